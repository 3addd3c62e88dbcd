"use strict";
// Tabs, columns, programs, and the lines that come from the same places. `#L7` selects line 7 of the program, `#2L7`
// that of the second program.

const WIDE = ["source", "kernel", "tile", "cpp", "sass"], NARROW = ["source", "tile"];

const places = (line) => (line.dataset.p ? line.dataset.p.split(" ") : []);
const lineOf = (place) => place.split(":")[0];

class Program {
  constructor(root) {
    this.root = root;
    this.lines = [...root.querySelectorAll(".column .l[data-p]")];
    this.columns = [...root.querySelectorAll(".column")];
    this.color();
    for (const button of root.querySelectorAll(".tabs button"))
      button.addEventListener("click", () => this.open(button.dataset.tab));
    for (const button of root.querySelectorAll(".toggles button"))
      button.addEventListener("click", () => this.show(button.dataset.column, button.ariaPressed !== "true"));
    root.addEventListener("click", (event) => {
      const line = event.target.closest(".column .l[data-p]");
      if (line && getSelection().isCollapsed) this.pick(line);
    });
    this.open(root.querySelector(".tabs button").dataset.tab);
    const wanted = innerWidth > 900 ? WIDE : NARROW;
    const few = this.columns.length <= wanted.length;
    for (const { dataset } of this.columns) this.show(dataset.column, few || wanted.includes(dataset.column));
    const first = root.querySelector('.column[data-column="source"] .l[data-p]');
    if (first) this.reveal(first);
  }

  // Each line of the program has a hue, which what comes from it bears: neighbors differ.
  color() {
    const hues = new Map();
    for (const line of this.lines) {
      const number = lineOf(places(line)[0]);
      line.dataset.column = line.closest(".column").dataset.column;
      if (line.dataset.column !== "source" && !hues.has(number)) hues.set(number, (hues.size * 137) % 360);
    }
    for (const line of this.lines) {
      const hue = hues.get(lineOf(places(line)[0]));
      if (hue === undefined) line.removeAttribute("data-p");
      else line.style.setProperty("--hue", hue);
    }
    this.lines = this.lines.filter((line) => line.dataset.p);
  }

  open(name) {
    for (const each of this.root.querySelectorAll(".tab")) each.hidden = each.dataset.tab !== name;
    for (const each of this.root.querySelectorAll(".tabs button")) each.ariaSelected = String(each.dataset.tab === name);
  }

  show(name, visible) {
    for (const each of this.columns) if (each.dataset.column === name) each.hidden = !visible;
    this.root.querySelector(`.toggles [data-column="${name}"]`).ariaPressed = String(visible);
  }

  pick(line) {
    if (line.dataset.column === "source") return go(this.root, lineOf(places(line)[0]));
    history.replaceState(null, "", "#");
    this.light(new Set(places(line)), line);
  }

  // Lights what comes from these places first, and weaker what else comes from the same lines; brings it into view.
  light(chosen, from) {
    const numbers = new Set([...chosen].map(lineOf));
    const whole = new Set([...chosen].filter((place) => place.endsWith(":0")).map(lineOf));
    for (const line of this.lines) {
      const own = places(line);
      const isSource = line.dataset.column === "source";
      // Ops that are made of several, such as a kernel, have all their places, and the first counts.
      const lit = chosen.has(own[0]) || (isSource ? numbers : whole).has(lineOf(own[0]));
      line.classList.toggle("lit", lit);
      line.classList.toggle("near", !lit && own.some((place) => numbers.has(lineOf(place))));
    }
    for (const column of this.columns) {
      const box = column.querySelector(".code"), line = box.querySelector(".lit") ?? box.querySelector(".near");
      if (line && column.dataset.column !== from?.dataset.column) this.reveal(line);
    }
  }

  reveal(line) {
    const box = line.closest(".code");
    box.scrollTop += line.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
  }
}

const programs = [...document.querySelectorAll(".program")].map((root) => new Program(root));

const select = (number) => programs.forEach((each, at) => {
  each.root.hidden = at !== number;
  const choice = each.root.querySelector("select.programs");
  if (choice) choice.value = String(number);
});
for (const choice of document.querySelectorAll("select.programs"))
  choice.addEventListener("change", () => select(Number(choice.value)));

function go(root, line) {
  const number = programs.findIndex((each) => each.root === root);
  const hash = `#${number ? number + 1 : ""}L${line}`;
  if (location.hash === hash) follow();
  else location.hash = hash;
}

function follow() {
  const found = /^#(\d*)L(\d+)$/.exec(location.hash);
  if (!found) return;
  const number = Number(found[1] || 1) - 1;
  if (!programs[number]) return;
  select(number);
  programs[number].open("levels");
  programs[number].light(new Set([`${found[2]}:0`]));
}

select(0);
addEventListener("hashchange", follow);
follow();
