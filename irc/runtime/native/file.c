/* The file: irc/runtime/saved.py says how it is made up. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 2
static const char MAGIC[8] = "irc\x89" "exe\n";

enum { DOCUMENT_SIZE = 32, DATA_SIZE = 40, DOCUMENT_SUM = 48, DATA_SUM = 80, SEAL = 112, HEAD = 128, ALIGNMENT = 64 };

static uint64_t word(const uint8_t *at) {
    uint64_t found = 0;
    for (int i = 7; i >= 0; i--) found = found << 8 | at[i];
    return found;
}

static int read_all(int descriptor, uint8_t *into, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t count = read(descriptor, into + done, size - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        if (count == 0) return EIO;
        done += (size_t)count;
    }
    return 0;
}

static void take_content(context *c, const char *path, int descriptor, file *found) {
    struct stat about;
    int failure = fstat(descriptor, &about) != 0 ? errno : !S_ISREG(about.st_mode) ? EINVAL : 0;
    if (failure == 0 && about.st_size > 0) {
        void *pages = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        failure = pages == MAP_FAILED ? errno : 0;
        if (failure == 0) {
            found->content = pages;
            found->size = (size_t)about.st_size;
            failure = read_all(descriptor, found->content, found->size);
        }
    }
    close(descriptor);
    if (failure != 0) irc_fail(c, IRC_BAD_FILE, "cannot read %s: %s", path, strerror(failure));
}

static _Noreturn void damaged(context *c, const char *path, const char *what) {
    irc_fail(c, IRC_BAD_FILE, "%s is damaged: %s; save it again, or copy it again", path, what);
}

static bool has_sum(const uint8_t *content, size_t size, const uint8_t *expected, size_t length) {
    uint8_t sum[32];
    irc_sha256(content, size, sum);
    return memcmp(sum, expected, length) == 0;
}

static void check_head(context *c, const char *path, const file *found) {
    const uint8_t *head = found->content;
    if (found->size < sizeof MAGIC || memcmp(head, MAGIC, sizeof MAGIC) != 0)
        irc_fail(c, IRC_BAD_FILE, "%s is no saved executable: Executable.save and irc-compile -o FILE.irx write them",
                 path);
    if (found->size < HEAD || !has_sum(head, SEAL, head + SEAL, HEAD - SEAL)) damaged(c, path, "its head");
    if (word(head + 8) != FORMAT)
        irc_fail(c, IRC_BAD_FILE, "%s is of format %llu, which irc %.16s wrote; this loader reads format %d", path,
                 (unsigned long long)word(head + 8), (const char *)head + 16, FORMAT);
}

void irc_read_file(context *c, const char *path, file *found) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) irc_fail(c, IRC_BAD_FILE, "cannot read %s: %s", path, strerror(errno));
    take_content(c, path, descriptor, found);
    check_head(c, path, found);
    const uint8_t *head = found->content;
    uint64_t document = word(head + DOCUMENT_SIZE), data = word(head + DATA_SIZE), rest = found->size - HEAD;
    uint64_t padding = -document % ALIGNMENT;
    if (document > rest || padding > rest - document || data != rest - document - padding)
        damaged(c, path, "it is cut off, or something follows it");
    found->document = head + HEAD;
    found->document_size = document;
    found->data = found->document + document + padding;
    found->data_size = data;
    if (!has_sum(found->document, document, head + DOCUMENT_SUM, 32)) damaged(c, path, "its document");
    if (!has_sum(found->data, data, head + DATA_SUM, 32)) damaged(c, path, "its data");
    for (uint64_t i = 0; i < padding; i++)
        if (found->document[document + i] != 0) damaged(c, path, "what follows its document");
}

void irc_close_file(file *found) {
    if (found->content != NULL) munmap(found->content, found->size);
    found->content = NULL;
}

void irc_drop_data(file *found) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)found->content + found->size;
    uintptr_t begin = ((uintptr_t)found->data + page - 1) / page * page;
    if (begin >= end) return;
    munmap((void *)begin, end - begin);
    found->size = begin - (uintptr_t)found->content;
}

bytes irc_piece(context *c, const file *of, const node *entry) {
    int64_t most = (int64_t)of->data_size;
    int64_t at = irc_integer(c, entry, "at", 0, most), size = irc_integer(c, entry, "bytes", 0, most - at);
    return (bytes){of->data + at, (size_t)size};
}
