/* Object files of x86-64 in memory: sections side by side in pages of their own, behind them a stub and an address for
 * each symbol, by which code reaches functions of the C library wherever they are. */
#include "internal.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct code {
    uint8_t *pages;
    size_t size;
    bytes object;
    const Elf64_Shdr *sections, *symbols;
    size_t section_count, symbol_count;
    uint8_t **placed; /* where each section is, NULL for those that are not in memory */
    size_t slots, stubs;
    void *libraries[2];
};

static const char *const LIBRARIES[] = {"libm.so.6", "libmvec.so.1"};

enum { STUB = 8, SLOT = 8 };

static _Noreturn void bad(context *c, const char *what) {
    irc_fail(c, IRC_BAD_FILE, "its machine code cannot be linked: %s", what);
}

static const void *part(context *c, const code *of, uint64_t at, uint64_t size) {
    if (at > of->object.size || size > of->object.size - at) bad(c, "the object file ends within a section");
    return of->object.data + at;
}

/* A part with numbers of 8 bytes in it. */
static const void *aligned(context *c, const code *of, uint64_t at, uint64_t size) {
    const void *found = part(c, of, at, size);
    if ((uintptr_t)found % 8 != 0) bad(c, "a table in it is not aligned");
    return found;
}

static const char *string(context *c, const code *of, uint32_t section, uint64_t at) {
    if (section >= of->section_count) bad(c, "a section of names is missing");
    const Elf64_Shdr *names = of->sections + section;
    const char *text = part(c, of, names->sh_offset, names->sh_size);
    if (at >= names->sh_size || memchr(text + at, 0, names->sh_size - at) == NULL) bad(c, "a name is cut off");
    return text + at;
}

static void read_headers(context *c, code *of) {
    const Elf64_Ehdr *head = aligned(c, of, 0, sizeof *head);
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_type != ET_REL || head->e_machine != EM_X86_64)
        irc_fail(c, IRC_OTHER_DEVICE, "its machine code is no object file of x86-64, and this loader links no other");
    of->section_count = head->e_shnum;
    of->sections = aligned(c, of, head->e_shoff, of->section_count * sizeof *of->sections);
    for (size_t i = 0; i < of->section_count; i++) {
        if (of->sections[i].sh_type == SHT_SYMTAB) of->symbols = of->sections + i;
    }
    if (of->symbols == NULL) bad(c, "it has no symbols");
    of->symbol_count = of->symbols->sh_size / sizeof(Elf64_Sym);
    aligned(c, of, of->symbols->sh_offset, of->symbols->sh_size);
}

static const Elf64_Sym *symbol(context *c, const code *of, uint64_t number) {
    if (number >= of->symbol_count) bad(c, "a symbol is missing");
    return (const Elf64_Sym *)(of->object.data + of->symbols->sh_offset) + number;
}

static size_t rounded(size_t size, size_t to) { return (size + to - 1) / to * to; }

/* Sections that may be written begin a page of their own; all others become readable and executable. */
static size_t lay_out(context *c, const code *of, size_t *offsets, size_t *fixed, size_t *slots, size_t *stubs) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), end = 0;
    for (int writable = 0; writable < 2; writable++) {
        for (size_t i = 0; i < of->section_count; i++) {
            const Elf64_Shdr *section = of->sections + i;
            bool is_writable = (section->sh_flags & SHF_WRITE) != 0;
            if (!(section->sh_flags & SHF_ALLOC) || is_writable != (writable == 1)) continue;
            if (section->sh_size > (1u << 30) || section->sh_addralign > page) bad(c, "a section is too large");
            if (section->sh_type != SHT_NOBITS) part(c, of, section->sh_offset, section->sh_size);
            offsets[i] = rounded(end, section->sh_addralign ? section->sh_addralign : 1);
            end = offsets[i] + section->sh_size;
            if (end > (1u << 30)) bad(c, "its sections are too large");
        }
        if (writable) break;
        *slots = rounded(end, 16);
        *stubs = *slots + SLOT * of->symbol_count;
        *fixed = end = rounded(*stubs + STUB * of->symbol_count, page);
    }
    return rounded(end, page);
}

static void place(context *c, code *of, size_t *fixed) {
    size_t *offsets = irc_take(c, of->section_count, sizeof *offsets);
    of->placed = irc_take(c, of->section_count, sizeof *of->placed);
    size_t size = lay_out(c, of, offsets, fixed, &of->slots, &of->stubs);
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) irc_fail(c, IRC_NO_MEMORY, "no memory for %zu bytes of machine code", size);
    of->pages = pages;
    of->size = size;
    for (size_t i = 0; i < of->section_count; i++) {
        const Elf64_Shdr *section = of->sections + i;
        if (!(section->sh_flags & SHF_ALLOC)) continue;
        of->placed[i] = of->pages + offsets[i];
        if (section->sh_type != SHT_NOBITS && section->sh_size != 0)
            memcpy(of->placed[i], of->object.data + section->sh_offset, section->sh_size);
    }
}

static void *function(context *c, code *of, const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    for (size_t i = 0; found == NULL && i < 2; i++) {
        if (of->libraries[i] == NULL) of->libraries[i] = dlopen(LIBRARIES[i], RTLD_NOW | RTLD_LOCAL);
        if (of->libraries[i] != NULL) found = dlsym(of->libraries[i], name);
    }
    if (found == NULL) irc_fail(c, IRC_OTHER_DEVICE, "its machine code calls %s, which no library here has", name);
    return found;
}

/* Fills in the address and the stub of each symbol: `jmp *address(%rip)`. */
static void fill_slots(context *c, code *of) {
    for (size_t i = 1; i < of->symbol_count; i++) {
        const Elf64_Sym *each = symbol(c, of, i);
        uint64_t address = 0;
        if (each->st_shndx == SHN_UNDEF)
            address = (uint64_t)(uintptr_t)function(c, of, string(c, of, of->symbols->sh_link, each->st_name));
        else if (each->st_shndx < of->section_count && of->placed[each->st_shndx] != NULL) {
            if (each->st_value > of->sections[each->st_shndx].sh_size) bad(c, "a symbol is behind its section");
            address = (uint64_t)(uintptr_t)(of->placed[each->st_shndx] + each->st_value);
        }
        uint8_t *slot = of->pages + of->slots + SLOT * i, *stub = of->pages + of->stubs + STUB * i;
        int32_t distance = (int32_t)(slot - (stub + 6));
        memcpy(slot, &address, sizeof address);
        memcpy(stub, "\xff\x25", 2);
        memcpy(stub + 2, &distance, sizeof distance);
    }
}

static void write_near(context *c, uint8_t *at, int64_t value) {
    int32_t low = (int32_t)value;
    if (low != value) bad(c, "what it reaches is too far away");
    memcpy(at, &low, sizeof low);
}

static void relocate(context *c, code *of, const Elf64_Rela *each, uint8_t *section, uint64_t size) {
    uint32_t type = (uint32_t)ELF64_R_TYPE(each->r_info);
    uint64_t number = ELF64_R_SYM(each->r_info), wide = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    bool is_foreign = symbol(c, of, number)->st_shndx == SHN_UNDEF;
    if (each->r_offset > size || wide > size - each->r_offset) bad(c, "a relocation is behind its section");
    uint8_t *at = section + each->r_offset, *slot = of->pages + of->slots + SLOT * number;
    uint8_t *stub = of->pages + of->stubs + STUB * number;
    uint64_t address, whole;
    memcpy(&address, slot, sizeof address);
    if (address == 0) bad(c, "a symbol has no address");
    int64_t from_here = each->r_addend - (int64_t)(intptr_t)at;
    switch (type) {
    case R_X86_64_64:
        whole = address + (uint64_t)each->r_addend;
        memcpy(at, &whole, sizeof whole);
        return;
    case R_X86_64_PC64:
        whole = address + (uint64_t)from_here;
        memcpy(at, &whole, sizeof whole);
        return;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        write_near(c, at, (int64_t)(is_foreign ? (uint64_t)(uintptr_t)stub : address) + from_here);
        return;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        write_near(c, at, (int64_t)(intptr_t)slot + from_here);
        return;
    default:
        irc_fail(c, IRC_BAD_FILE, "its machine code has a relocation of type %u, which this loader does not know", type);
    }
}

static void relocate_all(context *c, code *of) {
    for (size_t i = 0; i < of->section_count; i++) {
        const Elf64_Shdr *table = of->sections + i;
        if (table->sh_type != SHT_RELA) continue;
        if (table->sh_info >= of->section_count) bad(c, "relocations are of no section");
        uint8_t *section = of->placed[table->sh_info];
        if (section == NULL) continue;
        const Elf64_Rela *entries = aligned(c, of, table->sh_offset, table->sh_size);
        for (size_t n = 0; n < table->sh_size / sizeof *entries; n++)
            relocate(c, of, entries + n, section, of->sections[table->sh_info].sh_size);
    }
}

void irc_link(context *c, bytes object, code **into) {
    code *made = *into = irc_take(c, 1, sizeof *made);
    made->object = object;
    read_headers(c, made);
    size_t fixed;
    place(c, made, &fixed);
    fill_slots(c, made);
    relocate_all(c, made);
    if (mprotect(made->pages, fixed, PROT_READ | PROT_EXEC) != 0)
        irc_fail(c, IRC_FAILED, "this system does not let memory be executed");
}

void *irc_symbol(context *c, const code *of, const char *name) {
    for (size_t i = 1; i < of->symbol_count; i++) {
        const Elf64_Sym *each = symbol(c, of, i);
        if (each->st_shndx == SHN_UNDEF || each->st_shndx >= of->section_count) continue;
        if (of->placed[each->st_shndx] == NULL) continue;
        if (strcmp(string(c, of, of->symbols->sh_link, each->st_name), name) == 0)
            return of->placed[each->st_shndx] + each->st_value;
    }
    irc_fail(c, IRC_BAD_FILE, "its machine code has no function %s", name);
}

void irc_unlink(code *of) {
    if (of == NULL) return;
    if (of->pages != NULL) munmap(of->pages, of->size);
    of->pages = NULL;
    for (size_t i = 0; i < 2; i++)
        if (of->libraries[i] != NULL) dlclose(of->libraries[i]);
}
