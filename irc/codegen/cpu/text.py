"""Functions of LLVM IR that are written by hand."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Text:
    """Writes a function; variables are in memory, which LLVM makes registers."""

    lines: list[str] = field(default_factory=list[str])
    _count: int = 0

    def emit(self, text: str) -> str:
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def add(self, a: str, b: str | int) -> str:
        return self.emit(f"add nsw i64 {a}, {b}")

    def mul(self, a: str, b: str | int) -> str:
        return self.emit(f"mul nsw i64 {a}, {b}")

    def least(self, a: str, b: str | int) -> str:
        return self.emit(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def place(self, type: str, memory: str, index: str | int) -> str:
        return self.emit(f"getelementptr {type}, ptr {memory}, i64 {index}")

    def lanes_below(self, count: int, limit: str) -> str:
        """A mask of the lanes whose number is below a limit."""
        short = self.emit(f"trunc i64 {limit} to i32")
        first = self.emit(f"insertelement <{count} x i32> poison, i32 {short}, i64 0")
        limits = self.emit(
            f"shufflevector <{count} x i32> {first}, <{count} x i32> poison, <{count} x i32> zeroinitializer"
        )
        numbers = ", ".join(f"i32 {lane}" for lane in range(count))
        return self.emit(f"icmp slt <{count} x i32> <{numbers}>, {limits}")

    @contextmanager
    def loop(self, low: str | int, high: str | int, step: int) -> Generator[str]:
        """A loop; the index."""
        self._count += 1
        number = self._count
        self.lines += [
            f"  %at{number} = alloca i64",
            f"  store i64 {low}, ptr %at{number}",
            f"  br label %head{number}",
            f"head{number}:",
        ]
        index = self.emit(f"load i64, ptr %at{number}")
        test = self.emit(f"icmp slt i64 {index}, {high}")
        self.lines += [f"  br i1 {test}, label %body{number}, label %done{number}", f"body{number}:"]
        yield index
        self.lines.append(f"  store i64 {self.add(index, step)}, ptr %at{number}")
        self.lines += [f"  br label %head{number}", f"done{number}:"]

    @contextmanager
    def where(self, condition: str) -> Generator[None]:
        self._count += 1
        number = self._count
        self.lines += [f"  br i1 {condition}, label %then{number}, label %end{number}", f"then{number}:"]
        yield
        self.lines += [f"  br label %end{number}", f"end{number}:"]

    def function(self, signature: str) -> str:
        """With its variables at its beginning, where LLVM looks for them."""
        variables = [line for line in self.lines if " = alloca " in line]
        others = [line for line in self.lines if " = alloca " not in line]
        return "\n".join([f"define internal void {signature} noinline {{", *variables, *others, "  ret void", "}"])
