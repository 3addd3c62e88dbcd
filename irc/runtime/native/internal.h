/* What the parts of the loader share. */
#ifndef IRC_INTERNAL_H
#define IRC_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "irc.h"

/* ---- Failures: one jump to where the user's call began, with a message ---- */

typedef struct block block;

typedef struct {
    jmp_buf out;
    irc_error *error;
    block **blocks; /* what irc_take gave, for irc_release */
} context;

_Noreturn void irc_fail(context *c, irc_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Zeroed memory of `count` things of `size` bytes, aligned to 64 bytes, which is freed by irc_release. */
void *irc_take(context *c, size_t count, size_t size);
void irc_release(block **blocks);

/* ---- The document: CBOR (irc/support/cbor.py) ---- */

typedef enum { NODE_NULL, NODE_BOOL, NODE_INTEGER, NODE_FLOAT, NODE_TEXT, NODE_ARRAY, NODE_MAP } node_kind;

typedef struct node {
    node_kind kind;
    int64_t integer; /* also of NODE_BOOL */
    double number;
    const char *text;
    const struct node *items; /* of a map: keys and values by turns */
    size_t count;             /* items of an array, pairs of a map, bytes of a text */
} node;

const node *irc_parse(context *c, const uint8_t *content, size_t size);

/* What is in a node, or a failure that says what was looked for. */
const node *irc_find(const node *map, const char *name); /* NULL where the map has none */
const node *irc_field(context *c, const node *map, const char *name);
const node *irc_list(context *c, const node *map, const char *name);
const char *irc_text(context *c, const node *map, const char *name);
int64_t irc_integer(context *c, const node *map, const char *name, int64_t least, int64_t most);
int64_t irc_value(context *c, const node *value, const char *name, int64_t least, int64_t most);
bool irc_is(context *c, const node *map, const char *class_name);

/* ---- The file ---- */

typedef struct {
    const uint8_t *data;
    size_t size;
} bytes;

typedef struct {
    uint8_t *content; /* pages of its own */
    size_t size;
    const uint8_t *document;
    size_t document_size;
    const uint8_t *data;
    size_t data_size;
} file;

void irc_read_file(context *c, const char *path, file *found);
void irc_close_file(file *found);
void irc_drop_data(file *found); /* gives the pages of the data back */
bytes irc_piece(context *c, const file *of, const node *entry); /* what `{"at": ..., "bytes": ...}` stands for */
void irc_sha256(const uint8_t *content, size_t size, uint8_t sum[32]);

/* ---- Executables ---- */

typedef struct {
    irc_array array;
    size_t size;  /* bytes */
    bytes weight; /* in the file; NULL for what the caller gives */
} spec;

/* What a target does. `arguments` and `results` are the addresses of all of them, weights included. */
typedef struct {
    void (*run)(context *c, irc_exe *exe, void *const *arguments, void *const *results, void *stream);
    void (*run_host)(context *c, irc_exe *exe, void *const *arguments, void *const *results);
    void (*free)(irc_exe *exe);
} target;

struct irc_exe {
    file file;
    block *blocks;
    const char *name;
    spec *arguments, *results;
    size_t argument_count, result_count, given_count;
    size_t *given;  /* numbers of the arguments without a weight */
    int *donated;   /* of each result, the number of the argument that it is written over, or -1 */
    const target *target;
    struct cpu *cpu;
    struct cuda *cuda;
};

void irc_load_cpu(context *c, irc_exe *exe, const node *document);
void irc_load_cuda(context *c, irc_exe *exe, const node *document, int device);

/* The bytes of elements of a type, by irc's name of it. */
irc_element irc_element_of(context *c, const char *name);
size_t irc_product(context *c, const node *shape, int64_t *extents, size_t size);

/* ---- Machine code of a CPU ---- */

typedef struct code code;

void irc_link(context *c, bytes object, code **into); /* `*into` is for irc_unlink even where that fails */
void *irc_symbol(context *c, const code *of, const char *name);
void irc_unlink(code *of);
const char *irc_lacking(const char *features); /* the first feature that this CPU lacks, or NULL */

/* ---- A pool of threads ---- */

typedef void (*kernel_code)(void **pointers, int64_t first, int64_t end, void *own);
typedef struct pool pool;

pool *irc_make_pool(context *c, const code *of, size_t own_size);
void irc_pool_run(pool *of, kernel_code kernel, void **pointers, int64_t tiles, void *own);
void irc_free_pool(pool *of);

#endif
