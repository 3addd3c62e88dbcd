/* The target cpu: a plan (irc/runtime/cpu_plan.py) of kernels and reshapes, on values in memory of the caller, of the
 * file and of one arena. */
#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of operands and results up to which one thread runs a kernel (irc/runtime/cpu.py). */
#define ALONE 65536
#define MOST_VALUES (1 << 24)

enum { LINE = 64 };

/* Where a value is: of an argument or a result, its number; in the arena, its first byte. */
typedef enum { NOWHERE, IN_ARGUMENT, IN_RESULT, IN_ARENA } place;

typedef struct {
    place place;
    size_t at, size;
    size_t root;     /* the value whose memory it has: its own number, or what it is a reshape of */
    size_t last_use; /* of a root: the step behind which its memory is free */
} value;

typedef struct {
    const char *expected, *location;
} check;

typedef struct {
    const char *name;
    kernel_code code;
    int64_t tiles;
    size_t check_count;
    check *checks;
} kernel;

typedef struct {
    const kernel *kernel; /* NULL for a reshape */
    size_t *values;       /* operands, then results */
    size_t count, operand_count;
} step;

typedef struct cpu {
    code *kernels, *threads;
    pool *pool;
    kernel *kernel_list;
    value *values;
    step *steps;
    size_t kernel_count, value_count, step_count;
    size_t *returned;
    size_t arena, own, check_count, pointer_count; /* of a run: bytes, bytes, and the most of a kernel */
    pthread_mutex_t lock;
    void *kept; /* memory of a run that is over */
} cpu;

static void read_kernels(context *c, cpu *made, const node *plan) {
    const node *list = irc_list(c, plan, "kernels");
    made->kernel_count = list->count;
    made->kernel_list = irc_take(c, list->count, sizeof *made->kernel_list);
    for (size_t i = 0; i < list->count; i++) {
        kernel *each = made->kernel_list + i;
        const node *from = list->items + i, *checks = irc_list(c, from, "checks");
        each->name = irc_text(c, from, "name");
        each->tiles = irc_integer(c, from, "tiles", 0, INT64_MAX);
        each->code = NULL;
        each->check_count = checks->count;
        each->checks = irc_take(c, checks->count, sizeof *each->checks);
        for (size_t n = 0; n < checks->count; n++) {
            each->checks[n].expected = irc_text(c, checks->items + n, "expected");
            each->checks[n].location = irc_text(c, checks->items + n, "location");
        }
        size_t own = (size_t)irc_integer(c, from, "own_bytes", 0, INT64_C(1) << 40);
        if (own > made->own) made->own = own;
        if (checks->count > made->check_count) made->check_count = checks->count;
    }
}

static const kernel *kernel_of(context *c, const cpu *made, const char *name) {
    for (size_t i = 0; i < made->kernel_count; i++)
        if (strcmp(made->kernel_list[i].name, name) == 0) return made->kernel_list + i;
    irc_fail(c, IRC_BAD_FILE, "its plan has no kernel %s", name);
}

static void read_step(context *c, cpu *made, const node *from, size_t number) {
    step *into = made->steps + number;
    const char *does = irc_text(c, from, "does");
    const node *operands = irc_list(c, from, "operands"), *results = irc_list(c, from, "results");
    if (strcmp(does, "interpret") == 0)
        irc_fail(c, IRC_BAD_FILE, "%s at %s has no machine code, and Python alone interprets it: irc.load runs it",
                 irc_text(c, from, "name"), irc_text(c, from, "location"));
    bool is_launch = strcmp(does, "launch") == 0;
    if (is_launch) into->kernel = kernel_of(c, made, irc_text(c, from, "of"));
    if (!is_launch && (operands->count != 1 || results->count != 1 || strcmp(does, "reshape") != 0))
        irc_fail(c, IRC_BAD_FILE, "its plan has a step that this loader does not know: %s", does);
    into->operand_count = operands->count;
    into->count = operands->count + results->count;
    into->values = irc_take(c, into->count, sizeof *into->values);
    if (into->count > made->pointer_count) made->pointer_count = into->count;
    for (size_t i = 0; i < operands->count; i++) {
        into->values[i] = (size_t)irc_value(c, operands->items + i, "operands", 0, (int64_t)made->value_count - 1);
        made->values[made->values[into->values[i]].root].last_use = number;
    }
    for (size_t i = 0; i < results->count; i++) {
        int64_t *shape = irc_take(c, irc_list(c, results->items + i, "shape")->count, sizeof *shape);
        size_t element = irc_element_bytes(irc_element_of(c, irc_text(c, results->items + i, "element")));
        value *result = made->values + made->value_count;
        result->size = irc_product(c, irc_list(c, results->items + i, "shape"), shape, element);
        result->root = is_launch ? made->value_count : made->values[into->values[0]].root;
        if (made->values[result->root].size != result->size)
            irc_fail(c, IRC_BAD_FILE, "its plan has a reshape to another size");
        made->values[result->root].last_use = number;
        into->values[operands->count + i] = made->value_count++;
    }
}

static void read_steps(context *c, cpu *made, const irc_exe *exe, const node *plan) {
    const node *list = irc_list(c, plan, "steps"), *returned = irc_list(c, plan, "returned");
    size_t most = exe->argument_count;
    for (size_t i = 0; i < list->count; i++) most += irc_list(c, list->items + i, "results")->count;
    made->values = irc_take(c, most, sizeof *made->values);
    made->value_count = exe->argument_count;
    for (size_t i = 0; i < exe->argument_count; i++)
        made->values[i] = (value){IN_ARGUMENT, i, exe->arguments[i].size, i, 0};
    made->step_count = list->count;
    made->steps = irc_take(c, list->count, sizeof *made->steps);
    for (size_t i = 0; i < list->count; i++) read_step(c, made, list->items + i, i);
    if (returned->count != exe->result_count) irc_fail(c, IRC_BAD_FILE, "its plan has other results");
    made->returned = irc_take(c, returned->count, sizeof *made->returned);
    for (size_t i = 0; i < returned->count; i++) {
        size_t number = (size_t)irc_value(c, returned->items + i, "returned", 0, (int64_t)made->value_count - 1);
        value *root = made->values + made->values[number].root;
        if (made->values[number].size != exe->results[i].size)
            irc_fail(c, IRC_BAD_FILE, "its plan has a result of another size");
        made->returned[i] = (size_t)(root - made->values);
        if (root->place == NOWHERE) {
            root->place = IN_RESULT;
            root->at = i;
        }
    }
}

/* The first bytes of the arena that are free while a value lives, which `step` makes. */
static size_t first_free(const cpu *made, const size_t *living, size_t count, size_t size) {
    size_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            const value *other = made->values + living[i];
            if (at < other->at + other->size && other->at < at + size) {
                at = (other->at + other->size + LINE - 1) / LINE * LINE;
                moved = true;
            }
        }
    }
    return at;
}

static void place_values(context *c, cpu *made) {
    size_t *living = irc_take(c, made->value_count, sizeof *living), count = 0;
    for (size_t number = 0; number < made->step_count; number++) {
        const step *each = made->steps + number;
        size_t kept = 0;
        for (size_t i = 0; i < count; i++)
            if (made->values[living[i]].last_use >= number) living[kept++] = living[i];
        count = kept;
        for (size_t i = each->operand_count; i < each->count; i++) {
            value *result = made->values + each->values[i];
            if (result->root != each->values[i] || result->place != NOWHERE) continue;
            result->place = IN_ARENA;
            result->at = first_free(made, living, count, result->size);
            living[count++] = each->values[i];
            if (result->at + result->size > made->arena) made->arena = result->at + result->size;
        }
    }
    made->arena = (made->arena + LINE - 1) / LINE * LINE;
    made->own = (made->own + LINE - 1) / LINE * LINE;
}

/* One run: an arena, memory of the calling thread's own, numbers of checks, pointers. */
static uint8_t *take_memory(context *c, cpu *of) {
    pthread_mutex_lock(&of->lock);
    void *kept = of->kept;
    of->kept = NULL;
    pthread_mutex_unlock(&of->lock);
    if (kept != NULL) return kept;
    size_t rest = sizeof(int64_t) * (1 + of->check_count) + sizeof(void *) * (1 + of->pointer_count);
    size_t size = of->arena + of->own + (rest + LINE - 1) / LINE * LINE;
    uint8_t *made = aligned_alloc(LINE, size);
    if (made == NULL) irc_fail(c, IRC_NO_MEMORY, "no memory for %zu bytes of intermediate arrays", size);
    memset(made + of->arena, 0, of->own);
    return made;
}

static void give_memory(cpu *of, uint8_t *memory) {
    pthread_mutex_lock(&of->lock);
    void *other = of->kept;
    of->kept = memory;
    pthread_mutex_unlock(&of->lock);
    free(other);
}

typedef struct {
    void *const *arguments, *const *results;
    uint8_t *memory;
} frame;

static void *address(const cpu *of, size_t number, const frame *in) {
    const value *root = of->values + of->values[number].root;
    if (root->place == IN_ARENA) return in->memory + root->at;
    return root->place == IN_ARGUMENT ? in->arguments[root->at] : in->results[root->at];
}

/* 0, or the number of the check that failed, from 1 on. */
static int64_t run_step(const cpu *of, const step *each, const frame *in, int64_t *failed) {
    void **pointers = (void **)(failed + 1 + of->check_count);
    size_t moved = 0;
    for (size_t i = 0; i < each->count; i++) {
        pointers[i] = address(of, each->values[i], in);
        moved += of->values[each->values[i]].size;
    }
    pointers[each->count] = failed;
    memset(failed, 0, sizeof *failed * (1 + each->kernel->check_count));
    void *own = in->memory + of->arena;
    if (moved <= ALONE)
        each->kernel->code(pointers, 0, each->kernel->tiles, own);
    else
        irc_pool_run(of->pool, each->kernel->code, pointers, each->kernel->tiles, own);
    return failed[0];
}

static void run(context *c, irc_exe *exe, void *const *arguments, void *const *results, void *stream) {
    cpu *of = exe->cpu;
    if (stream != NULL) irc_fail(c, IRC_BAD_ARGUMENT, "%s is for cpu, which has no streams: give NULL", exe->name);
    frame in = {arguments, results, take_memory(c, of)};
    int64_t *failed = (int64_t *)(in.memory + of->arena + of->own);
    for (size_t i = 0; i < of->step_count; i++) {
        const step *each = of->steps + i;
        if (each->kernel == NULL || each->kernel->tiles == 0) continue;
        int64_t number = run_step(of, each, &in, failed);
        if (number == 0) continue;
        size_t count = each->kernel->check_count;
        const check *found = number > 0 && (size_t)number <= count ? each->kernel->checks + number - 1 : NULL;
        long long index = found == NULL ? 0 : (long long)failed[number];
        give_memory(of, in.memory);
        if (found == NULL) irc_fail(c, IRC_FAILED, "kernel %s failed", each->kernel->name);
        irc_fail(c, IRC_BAD_ARGUMENT, "%s: index %lld is out of range: %s", found->location, index, found->expected);
    }
    for (size_t i = 0; i < exe->result_count; i++) {
        const void *from = address(of, of->returned[i], &in);
        if (from != results[i] && exe->results[i].size != 0) memcpy(results[i], from, exe->results[i].size);
    }
    give_memory(of, in.memory);
}

static void run_host(context *c, irc_exe *exe, void *const *arguments, void *const *results) {
    run(c, exe, arguments, results, NULL);
}

static void free_cpu(irc_exe *exe) {
    cpu *of = exe->cpu;
    irc_free_pool(of->pool);
    irc_unlink(of->kernels);
    irc_unlink(of->threads);
    pthread_mutex_destroy(&of->lock);
    free(of->kept);
}

static const target CPU = {run, run_host, free_cpu};

void irc_load_cpu(context *c, irc_exe *exe, const node *document) {
    const node *plan = irc_field(c, document, "plan"), *host = irc_list(c, plan, "host");
    const node *objects = irc_field(c, document, "objects");
    if (host->count != 3 || host->items[1].kind != NODE_TEXT || host->items[2].kind != NODE_TEXT)
        irc_fail(c, IRC_BAD_FILE, "its plan does not say which CPU it is for");
    const char *lacking = irc_lacking(host->items[2].text);
    if (lacking != NULL)
        irc_fail(c, IRC_OTHER_DEVICE, "it is for another CPU (%s): this one lacks %s; compile it here",
                 host->items[1].text, lacking);
    cpu *made = irc_take(c, 1, sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    exe->cpu = made;
    exe->target = &CPU;
    read_kernels(c, made, plan);
    read_steps(c, made, exe, plan);
    place_values(c, made);
    if (made->kernel_count == 0) return;
    irc_link(c, irc_piece(c, &exe->file, irc_field(c, objects, "kernels")), &made->kernels);
    irc_link(c, irc_piece(c, &exe->file, irc_field(c, objects, "pool")), &made->threads);
    for (size_t i = 0; i < made->kernel_count; i++)
        *(void **)&made->kernel_list[i].code = irc_symbol(c, made->kernels, made->kernel_list[i].name);
    made->pool = irc_make_pool(c, made->threads, made->own);
}
