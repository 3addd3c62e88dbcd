/* The functions of irc.h. */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} ELEMENTS[] = {
    [IRC_F64] = {"f64", 8},       [IRC_F32] = {"f32", 4},       [IRC_F16] = {"f16", 2}, [IRC_BF16] = {"bf16", 2},
    [IRC_F8E4M3] = {"f8e4m3", 1}, [IRC_F8E5M2] = {"f8e5m2", 1}, [IRC_I64] = {"i64", 8}, [IRC_I32] = {"i32", 4},
    [IRC_I16] = {"i16", 2},       [IRC_I8] = {"i8", 1},         [IRC_U8] = {"u8", 1},   [IRC_BOOL] = {"bool", 1},
};
#define ELEMENT_COUNT (sizeof ELEMENTS / sizeof *ELEMENTS)
#define MOST_BYTES (INT64_C(1) << 48)

irc_element irc_element_of(context *c, const char *name) {
    for (size_t i = 0; i < ELEMENT_COUNT; i++)
        if (strcmp(ELEMENTS[i].name, name) == 0) return (irc_element)i;
    irc_fail(c, IRC_BAD_FILE, "it has elements of type %s, which this loader does not know", name);
}

size_t irc_product(context *c, const node *shape, int64_t *extents, size_t size) {
    int64_t product = (int64_t)size;
    for (size_t i = 0; i < shape->count; i++) {
        extents[i] = irc_value(c, shape->items + i, "shape", 0, MOST_BYTES);
        if (extents[i] > 1 && product > MOST_BYTES / extents[i])
            irc_fail(c, IRC_BAD_FILE, "its document has an array that is too large");
        product *= extents[i];
    }
    return (size_t)product;
}

/* ---- Loading ---- */

static void read_spec(context *c, const node *from, spec *into) {
    const node *shape = irc_list(c, from, "shape"), *extents = irc_list(c, from, "extents");
    into->array.name = irc_text(c, from, "name");
    if (extents->count != 0)
        irc_fail(c, IRC_BAD_FILE, "extents of %s are known when it is called, which Python alone runs: compile one size",
                 into->array.name);
    if (shape->count > 64) irc_fail(c, IRC_BAD_FILE, "%s has %zu axes", into->array.name, shape->count);
    int64_t *taken = irc_take(c, shape->count, sizeof *taken);
    into->array.element = irc_element_of(c, irc_text(c, from, "element"));
    into->array.rank = (int)shape->count;
    into->array.shape = taken;
    into->size = irc_product(c, shape, taken, ELEMENTS[into->array.element].size);
}

static spec *read_specs(context *c, const node *document, const char *name, size_t *count) {
    const node *list = irc_list(c, document, name);
    *count = list->count;
    spec *made = irc_take(c, list->count, sizeof *made);
    for (size_t i = 0; i < list->count; i++) read_spec(c, list->items + i, made + i);
    return made;
}

static spec *argument_named(context *c, irc_exe *exe, const char *name) {
    for (size_t i = 0; i < exe->argument_count; i++)
        if (strcmp(exe->arguments[i].array.name, name) == 0) return exe->arguments + i;
    irc_fail(c, IRC_BAD_FILE, "it has a weight %s, and no argument of that name", name);
}

static void read_weights(context *c, irc_exe *exe, const node *document) {
    const node *weights = irc_field(c, document, "weights");
    for (size_t i = 0; weights->kind == NODE_MAP && i < weights->count; i++) {
        spec *argument = argument_named(c, exe, weights->items[2 * i].text);
        argument->weight = irc_piece(c, &exe->file, weights->items + 2 * i + 1);
        if (argument->weight.size != argument->size)
            irc_fail(c, IRC_BAD_FILE, "its weight %s has %zu bytes where %zu are expected", argument->array.name,
                     argument->weight.size, argument->size);
    }
    exe->given = irc_take(c, exe->argument_count, sizeof *exe->given);
    for (size_t i = 0; i < exe->argument_count; i++)
        if (exe->arguments[i].weight.data == NULL) exe->given[exe->given_count++] = i;
}

static void load(context *c, irc_exe *exe, const char *path, int device) {
    irc_read_file(c, path, &exe->file);
    const node *document = irc_parse(c, exe->file.document, exe->file.document_size);
    exe->arguments = read_specs(c, document, "arguments", &exe->argument_count);
    exe->results = read_specs(c, document, "results", &exe->result_count);
    exe->name = irc_text(c, irc_field(c, document, "plan"), "name");
    exe->donated = irc_take(c, exe->result_count, sizeof *exe->donated);
    for (size_t i = 0; i < exe->result_count; i++) exe->donated[i] = -1;
    read_weights(c, exe, document);
    const char *target = irc_text(c, document, "target");
    if (strcmp(target, "cpu") == 0)
        irc_load_cpu(c, exe, document);
    else if (strcmp(target, "cuda") == 0)
        irc_load_cuda(c, exe, document, device);
    else
        irc_fail(c, IRC_BAD_FILE, "it is for the target %s, which this loader does not know", target);
}

irc_status irc_load(const char *path, int device, irc_exe **exe, irc_error *error) {
    irc_error unseen;
    context c = {.error = error == NULL ? &unseen : error};
    *c.error = (irc_error){IRC_OK, ""};
    *exe = NULL;
    irc_exe *made = calloc(1, sizeof *made);
    if (made == NULL) {
        *c.error = (irc_error){IRC_NO_MEMORY, "no memory for an executable"};
        return IRC_NO_MEMORY;
    }
    c.blocks = &made->blocks;
    if (setjmp(c.out) != 0) {
        irc_free(made);
        return c.error->status;
    }
    load(&c, made, path, device);
    *exe = made;
    return IRC_OK;
}

void irc_free(irc_exe *exe) {
    if (exe == NULL) return;
    if (exe->target != NULL) exe->target->free(exe);
    irc_close_file(&exe->file);
    irc_release(&exe->blocks);
    free(exe);
}

/* ---- Questions ---- */

const char *irc_name(const irc_exe *exe) { return exe->name; }
const char *irc_target(const irc_exe *exe) { return exe->cpu != NULL ? "cpu" : "cuda"; }
size_t irc_argument_count(const irc_exe *exe) { return exe->given_count; }
irc_array irc_argument(const irc_exe *exe, size_t number) { return exe->arguments[exe->given[number]].array; }
size_t irc_result_count(const irc_exe *exe) { return exe->result_count; }
irc_array irc_result(const irc_exe *exe, size_t number) { return exe->results[number].array; }

int irc_donated(const irc_exe *exe, size_t result) {
    for (size_t i = 0; i < exe->given_count; i++)
        if ((int)exe->given[i] == exe->donated[result]) return (int)i;
    return -1;
}

size_t irc_element_bytes(irc_element element) {
    return (size_t)element < ELEMENT_COUNT ? ELEMENTS[element].size : 0;
}

size_t irc_bytes(const irc_array *array) {
    size_t size = irc_element_bytes(array->element);
    for (int i = 0; i < array->rank; i++) size *= (size_t)array->shape[i];
    return size;
}

/* ---- Runs ---- */

typedef struct {
    char text[200];
} type_text;

/* `f32[64, 32]`. */
static type_text text_of(const irc_array *array) {
    type_text found;
    size_t most = sizeof found.text, at;
    const char *name = (size_t)array->element < ELEMENT_COUNT ? ELEMENTS[array->element].name : "?";
    at = (size_t)snprintf(found.text, most, "%s[", name);
    for (int i = 0; array->shape != NULL && i < array->rank && at < most; i++)
        at += (size_t)snprintf(found.text + at, most - at, "%s%" PRId64, i == 0 ? "" : ", ", array->shape[i]);
    if (at < most) snprintf(found.text + at, most - at, "]");
    return found;
}

static void check_array(context *c, const irc_exe *exe, const char *what, const spec *expected,
                        const irc_array *found, size_t alignment) {
    const irc_array *wanted = &expected->array;
    bool fits = found->element == wanted->element && found->rank == wanted->rank;
    for (int i = 0; fits && i < wanted->rank; i++) fits = found->shape != NULL && found->shape[i] == wanted->shape[i];
    if (!fits)
        irc_fail(c, IRC_BAD_ARGUMENT, "%s %s of %s: expected %s, found %s", what, wanted->name, exe->name,
                 text_of(wanted).text, text_of(found).text);
    if (alignment == 0) alignment = ELEMENTS[wanted->element].size;
    if (expected->size != 0 && found->data == NULL)
        irc_fail(c, IRC_BAD_ARGUMENT, "%s %s of %s has no data", what, wanted->name, exe->name);
    if ((uintptr_t)found->data % alignment != 0)
        irc_fail(c, IRC_BAD_ARGUMENT, "%s %s of %s: expected an address that is a multiple of %zu, found %p", what,
                 wanted->name, exe->name, alignment, found->data);
}

static bool meet(const void *one, size_t size, const void *other, size_t other_size) {
    uintptr_t a = (uintptr_t)one, b = (uintptr_t)other;
    return size != 0 && other_size != 0 && a < b + other_size && b < a + size;
}

static void check_apart(context *c, const irc_exe *exe, void *const *arguments, void *const *results, size_t result) {
    const spec *own = exe->results + result, *other;
    for (size_t i = 0; i < exe->argument_count; i++) {
        other = exe->arguments + i;
        if (other->weight.data == NULL && meet(results[result], own->size, arguments[i], other->size))
            irc_fail(c, IRC_BAD_ARGUMENT, "result %s of %s shares memory with argument %s", own->array.name, exe->name,
                     other->array.name);
    }
    for (size_t i = 0; i < result; i++)
        if (meet(results[result], own->size, results[i], exe->results[i].size))
            irc_fail(c, IRC_BAD_ARGUMENT, "result %s of %s shares memory with result %s", own->array.name, exe->name,
                     exe->results[i].array.name);
}

static void check_count(context *c, const irc_exe *exe, const char *what, size_t expected, size_t found) {
    if (expected != found)
        irc_fail(c, IRC_BAD_ARGUMENT, "%s has %zu %s, found %zu", exe->name, expected, what, found);
}

/* The addresses of all arguments and results. They are multiples of `alignment`, or where that is 0 of an element. */
static void check(context *c, const irc_exe *exe, const irc_array *inputs, const irc_array *outputs, size_t alignment,
                  void **arguments, void **results) {
    for (size_t i = 0; i < exe->argument_count; i++) arguments[i] = (void *)(uintptr_t)exe->arguments[i].weight.data;
    for (size_t i = 0; i < exe->given_count; i++) {
        check_array(c, exe, "argument", exe->arguments + exe->given[i], inputs + i, alignment);
        arguments[exe->given[i]] = inputs[i].data;
    }
    for (size_t i = 0; i < exe->result_count; i++) {
        irc_array given = outputs[i];
        int donated = exe->donated[i];
        if (donated >= 0 && given.data == NULL) given.data = arguments[donated];
        check_array(c, exe, "result", exe->results + i, &given, alignment);
        results[i] = given.data;
        if (donated >= 0 && given.data != arguments[donated])
            irc_fail(c, IRC_BAD_ARGUMENT, "result %s of %s is written over argument %s: give it the same data",
                     exe->results[i].array.name, exe->name, exe->arguments[donated].array.name);
        if (donated < 0) check_apart(c, exe, arguments, results, i);
    }
}

typedef struct {
    irc_exe *exe;
    const irc_array *inputs, *outputs;
    size_t input_count, output_count;
    bool is_on_host;
    void *stream;
} call;

static irc_status run(const call *made, irc_error *error) {
    irc_error unseen;
    block *blocks = NULL;
    context c = {.error = error == NULL ? &unseen : error, .blocks = &blocks};
    *c.error = (irc_error){IRC_OK, ""};
    if (setjmp(c.out) == 0) {
        irc_exe *exe = made->exe;
        check_count(&c, exe, "arguments", exe->given_count, made->input_count);
        check_count(&c, exe, "results", exe->result_count, made->output_count);
        void **arguments = irc_take(&c, exe->argument_count + exe->result_count, sizeof *arguments);
        void **results = arguments + exe->argument_count;
        size_t alignment = exe->cuda != NULL && !made->is_on_host ? 16 : 0;
        check(&c, exe, made->inputs, made->outputs, alignment, arguments, results);
        if (made->is_on_host)
            exe->target->run_host(&c, exe, arguments, results);
        else
            exe->target->run(&c, exe, arguments, results, made->stream);
    }
    irc_release(&blocks);
    return c.error->status;
}

irc_status irc_run(irc_exe *exe, const irc_array *inputs, size_t input_count, const irc_array *outputs,
                   size_t output_count, void *stream, irc_error *error) {
    return run(&(call){exe, inputs, outputs, input_count, output_count, false, stream}, error);
}

irc_status irc_run_host(irc_exe *exe, const irc_array *inputs, size_t input_count, const irc_array *outputs,
                        size_t output_count, irc_error *error) {
    return run(&(call){exe, inputs, outputs, input_count, output_count, true, NULL}, error);
}
