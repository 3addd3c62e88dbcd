/* The document as a tree: the subset of CBOR (RFC 8949) that irc/support/cbor.py writes. */
#include "internal.h"

#include <string.h>

enum { UNSIGNED, NEGATIVE, TEXT = 3, ARRAY, MAP, SIMPLE = 7 };

enum { DEEPEST = 64 };

typedef struct {
    context *c;
    const uint8_t *at, *end;
} reader;

static _Noreturn void broken(reader *r, const char *what) {
    irc_fail(r->c, IRC_BAD_FILE, "its document is no CBOR that irc writes: %s", what);
}

/* A big-endian number. */
static uint64_t number_of(reader *r, int size) {
    if (r->end - r->at < size) broken(r, "it ends within a number");
    uint64_t found = 0;
    for (int i = 0; i < size; i++) found = found << 8 | *r->at++;
    return found;
}

static void read(reader *r, node *into, int depth);

static void read_items(reader *r, node *into, uint64_t count, uint64_t each, int depth) {
    if (depth == DEEPEST) broken(r, "it is too deep");
    if (count > (uint64_t)(r->end - r->at) / each) broken(r, "it ends within an array");
    node *items = irc_take(r->c, count * each, sizeof *items);
    into->items = items;
    into->count = count;
    for (uint64_t i = 0; i < count * each; i++) {
        read(r, items + i, depth + 1);
        if (each == 2 && i % 2 == 0 && items[i].kind != NODE_TEXT) broken(r, "a key is no text");
    }
}

static void read_text(reader *r, node *into, uint64_t size) {
    if (size > (uint64_t)(r->end - r->at)) broken(r, "it ends within a text");
    char *text = irc_take(r->c, size + 1, 1);
    memcpy(text, r->at, size);
    r->at += size;
    into->text = text;
    into->count = size;
}

static void read_simple(reader *r, node *into, int low) {
    if (low == 27) {
        uint64_t bits = number_of(r, 8);
        into->kind = NODE_FLOAT;
        memcpy(&into->number, &bits, sizeof bits);
    } else if (low == 20 || low == 21) {
        into->kind = NODE_BOOL;
        into->integer = low - 20;
    } else if (low != 22) {
        broken(r, "a value of another kind");
    }
}

static void read(reader *r, node *into, int depth) {
    uint8_t first = (uint8_t)number_of(r, 1);
    int major = first >> 5, low = first & 31;
    if (major == SIMPLE) {
        read_simple(r, into, low);
        return;
    }
    if (low > 27) broken(r, "a length that is not definite");
    uint64_t number = low < 24 ? (uint64_t)low : number_of(r, 1 << (low - 24));
    switch (major) {
    case UNSIGNED:
    case NEGATIVE:
        if (number > INT64_MAX) broken(r, "an integer of more than 64 bits");
        into->kind = NODE_INTEGER;
        into->integer = major == UNSIGNED ? (int64_t)number : -1 - (int64_t)number;
        return;
    case TEXT:
        into->kind = NODE_TEXT;
        read_text(r, into, number);
        return;
    case ARRAY:
        into->kind = NODE_ARRAY;
        read_items(r, into, number, 1, depth);
        return;
    case MAP:
        into->kind = NODE_MAP;
        read_items(r, into, number, 2, depth);
        return;
    default:
        broken(r, "a value of another kind");
    }
}

const node *irc_parse(context *c, const uint8_t *content, size_t size) {
    reader r = {c, content, content + size};
    node *root = irc_take(c, 1, sizeof *root);
    read(&r, root, 0);
    if (r.at != r.end) broken(&r, "something follows it");
    return root;
}

static _Noreturn void unexpected(context *c, const char *name, const char *what) {
    irc_fail(c, IRC_BAD_FILE, "its document has no %s where %s is expected", name, what);
}

const node *irc_find(const node *map, const char *name) {
    if (map->kind == NODE_MAP)
        for (size_t i = 0; i < map->count; i++)
            if (strcmp(map->items[2 * i].text, name) == 0) return map->items + 2 * i + 1;
    return NULL;
}

const node *irc_field(context *c, const node *map, const char *name) {
    const node *found = irc_find(map, name);
    if (found == NULL) unexpected(c, name, "a map with it");
    return found;
}

const node *irc_list(context *c, const node *map, const char *name) {
    const node *found = irc_field(c, map, name);
    if (found->kind != NODE_ARRAY) unexpected(c, name, "an array");
    return found;
}

const char *irc_text(context *c, const node *map, const char *name) {
    const node *found = irc_field(c, map, name);
    if (found->kind != NODE_TEXT) unexpected(c, name, "a text");
    return found->text;
}

int64_t irc_value(context *c, const node *value, const char *name, int64_t least, int64_t most) {
    if (value->kind != NODE_INTEGER && value->kind != NODE_BOOL) unexpected(c, name, "an integer");
    if (value->integer < least || value->integer > most) unexpected(c, name, "an integer of its range");
    return value->integer;
}

int64_t irc_integer(context *c, const node *map, const char *name, int64_t least, int64_t most) {
    return irc_value(c, irc_field(c, map, name), name, least, most);
}

bool irc_is(context *c, const node *map, const char *class_name) {
    return strcmp(irc_text(c, map, "is"), class_name) == 0;
}
