/* Failures, and memory that is freed with what it is for. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
    struct block *next;
    char padding[64 - sizeof(struct block *)];
    char content[];
};

_Noreturn void irc_fail(context *c, irc_status status, const char *format, ...) {
    if (c->error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        c->error->status = status;
        vsnprintf(c->error->message, sizeof c->error->message, format, arguments);
        va_end(arguments);
    }
    longjmp(c->out, status);
}

void *irc_take(context *c, size_t count, size_t size) {
    size_t limit = SIZE_MAX / 2 - sizeof(block);
    if (size != 0 && count > limit / size) irc_fail(c, IRC_NO_MEMORY, "%zu times %zu bytes are too much", count, size);
    size_t whole = (sizeof(block) + count * size + 63) / 64 * 64;
    block *made = aligned_alloc(64, whole);
    if (made == NULL) irc_fail(c, IRC_NO_MEMORY, "no memory for %zu bytes", whole);
    memset(made, 0, whole);
    made->next = *c->blocks;
    *c->blocks = made;
    return made->content;
}

void irc_release(block **blocks) {
    while (*blocks != NULL) {
        block *next = (*blocks)->next;
        free(*blocks);
        *blocks = next;
    }
}
