/* The target cuda: kernels loaded by the driver, and a plan that is enqueued on a stream. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR; CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. */
enum { MAJOR = 75, MINOR = 76, DYNAMIC_SHARED = 8, LEAST_OPTED_IN = 48 * 1024 };
enum { NON_BLOCKING = 1, UNTIMED = 2, L2_128B = 2 };

static void check(context *c, const cuda *of, int status, const char *doing) { irc_check(c, &of->driver, status, doing, ""); }

/* ---- Loading ---- */

static void open_device(context *c, cuda *made, const char *arch, int number) {
    int count = 0, major = 0, minor = 0, handle;
    check(c, made, made->driver.count(&count), "count GPUs");
    if (number < 0 || number >= count)
        irc_fail(c, IRC_OTHER_DEVICE, "there is no GPU %d: the driver has %d", number, count);
    check(c, made, made->driver.device(&handle, number), "open the GPU");
    check(c, made, made->driver.attribute(&major, MAJOR, handle), "ask for the GPU's architecture");
    check(c, made, made->driver.attribute(&minor, MINOR, handle), "ask for the GPU's architecture");
    if (strncmp(arch, "sm_", 3) != 0 || strtol(arch + 3, NULL, 10) != 10 * major + minor)
        irc_fail(c, IRC_OTHER_DEVICE, "it is for %s, and GPU %d is of compute capability %d.%d; compile it for that one",
                 arch, number, major, minor);
    made->device = handle;
    check(c, made, made->driver.retain(&made->context, handle), "open the GPU");
}

static void *function_named(const cuda *made, const char *name) {
    for (size_t i = 0; i < made->step_count; i++)
        if (made->steps[i].kind == LAUNCH && made->steps[i].function != NULL && strcmp(made->steps[i].name, name) == 0)
            return made->steps[i].function;
    return NULL;
}

static void *load_kernel(context *c, cuda *made, const irc_exe *exe, const node *kernels, const step *launch) {
    const node *found = NULL;
    for (size_t i = 0; i < kernels->count; i++)
        if (strcmp(irc_text(c, kernels->items + i, "name"), launch->name) == 0) found = kernels->items + i;
    if (found == NULL) irc_fail(c, IRC_BAD_FILE, "it has no machine code of kernel %s", launch->name);
    bytes cubin = irc_piece(c, &exe->file, irc_field(c, found, "code"));
    if (cubin.size < 4 || memcmp(cubin.data, "\x7f" "ELF", 4) != 0)
        irc_fail(c, IRC_BAD_FILE, "kernel %s is no machine code", launch->name);
    void *function, **module = made->modules + made->module_count;
    irc_check(c, &made->driver, made->driver.load(module, cubin.data), "load kernel ", launch->name);
    made->module_count++;
    const char *symbol = irc_find(found, "symbol") == NULL ? launch->name : irc_text(c, found, "symbol");
    irc_check(c, &made->driver, made->driver.function(&function, *module, symbol), "load kernel ", launch->name);
    if (launch->config.shared > LEAST_OPTED_IN)
        irc_check(c, &made->driver, made->driver.set_attribute(function, DYNAMIC_SHARED, (int)launch->config.shared),
                  "have the shared memory of kernel ", launch->name);
    return function;
}

static void load_kernels(context *c, cuda *made, const irc_exe *exe, const node *document) {
    const node *kernels = irc_list(c, document, "kernels");
    made->modules = irc_take(c, kernels->count, sizeof *made->modules);
    for (size_t i = 0; i < made->step_count; i++) {
        step *each = made->steps + i;
        if (each->kind != LAUNCH) continue;
        each->function = function_named(made, each->name);
        if (each->function == NULL) each->function = load_kernel(c, made, exe, kernels, each);
    }
}

static void copy_to(context *c, const cuda *made, size_t slot, bytes content) {
    address_t to = made->memory + made->at[slot], from = (address_t)(uintptr_t)content.data;
    if (content.size != 0) check(c, made, made->driver.copy(to, from, content.size, made->own_stream), "copy to the GPU");
}

static void fill_memory(context *c, cuda *made, const irc_exe *exe, const node *constants) {
    if (made->memory_size == 0) return;
    check(c, made, made->driver.allocate(&made->memory, made->memory_size), "have memory of the GPU");
    for (size_t i = 0; i < constants->count; i++)
        copy_to(c, made, made->arena_slot + 1 + i, irc_piece(c, &exe->file, constants->items + i));
    for (size_t i = 0; i < exe->argument_count; i++)
        if (exe->arguments[i].weight.data != NULL) copy_to(c, made, i, exe->arguments[i].weight);
    check(c, made, made->driver.synchronize(made->own_stream), "copy to the GPU");
}

static void make_streams(context *c, cuda *made) {
    made->streams = irc_take(c, (size_t)made->stream_count, sizeof *made->streams);
    made->events = irc_take(c, (size_t)made->event_count, sizeof *made->events);
    check(c, made, made->driver.make_stream(&made->own_stream, NON_BLOCKING), "make a stream");
    for (int i = 1; i < made->stream_count; i++)
        check(c, made, made->driver.make_stream(made->streams + i, NON_BLOCKING), "make a stream");
    for (int i = 0; i < made->event_count; i++)
        check(c, made, made->driver.make_event(made->events + i, UNTIMED), "make an event");
    check(c, made, made->driver.make_event(&made->start, UNTIMED), "make an event");
    check(c, made, made->driver.make_event(&made->done, UNTIMED), "make an event");
}

/* ---- Runs ---- */

static void encode(context *c, const cuda *of, fill *each, address_t address) {
    const map *from = each->map;
    int status;
    if (from->corner_count == 0)
        status = of->driver.encode_tiled(each->cell, from->type, (uint32_t)from->rank, address, from->extents,
                                         from->strides, from->box, from->steps, 0, from->swizzle, L2_128B, 0);
    else
        status = of->driver.encode_im2col(each->cell, from->type, (uint32_t)from->rank, address, from->extents,
                                          from->strides, from->lower, from->upper, from->box[0], from->box[1],
                                          from->steps, 0, from->swizzle, L2_128B, 0);
    check(c, of, status, "make a tensor map");
}

static address_t address_of(const cuda *of, const buffer *at) { return of->slots[at->slot] + at->offset; }

/* Writes the addresses of a run among the parameters; those that are there already stay. */
static void place(context *c, cuda *of, const irc_exe *exe, void *const *arguments, void *const *results) {
    for (size_t i = 0; i < of->slot_count; i++) of->slots[i] = of->memory + of->at[i];
    for (size_t i = 0; i < exe->argument_count; i++)
        if (exe->arguments[i].weight.data == NULL) of->slots[i] = (address_t)(uintptr_t)arguments[i];
    for (size_t i = 0; i < exe->result_count; i++)
        of->slots[exe->argument_count + i] = (address_t)(uintptr_t)results[i];
    for (size_t i = 0; i < of->fill_count; i++) {
        fill *each = of->fills + i;
        address_t address = address_of(of, &each->buffer);
        if (address == each->last) continue;
        each->last = ~(address_t)0;
        if (each->map == NULL)
            memcpy(each->cell, &address, sizeof address);
        else
            encode(c, of, each, address);
        each->last = address;
    }
}

static void enqueue_step(context *c, cuda *of, step *each) {
    const driver *d = &of->driver;
    void *stream = of->streams[each->stream];
    switch (each->kind) {
    case LAUNCH:
        each->config.stream = stream;
        irc_check(c, d, d->launch(&each->config, each->function, each->parameters, NULL), "launch kernel ", each->name);
        return;
    case COPY:
        if (each->to.size != 0)
            check(c, of, d->copy(address_of(of, &each->to), address_of(of, &each->from), each->to.size, stream), "copy");
        return;
    case MEMSET:
        if (each->to.size != 0)
            check(c, of, d->fill(address_of(of, &each->to), (unsigned char)each->value, each->to.size, stream), "fill");
        return;
    case RECORD:
        check(c, of, d->record(of->events[each->event], stream), "record an event");
        return;
    case WAIT:
        check(c, of, d->wait(stream, of->events[each->event], 0), "wait for an event");
        return;
    }
}

/* Runs share the arena, so that each one starts behind the one before it; a captured one is for the caller to order. */
static void enqueue(context *c, cuda *of, const irc_exe *exe, void *const *arguments, void *const *results, void *stream) {
    const driver *d = &of->driver;
    int capturing = 0;
    check(c, of, d->is_capturing(stream, &capturing), "ask for the stream's state");
    bool is_ordered = of->arena != 0 && !capturing;
    if (is_ordered && of->has_run && of->last_stream != stream)
        check(c, of, d->wait(stream, of->done, 0), "wait for the run before");
    place(c, of, exe, arguments, results);
    of->streams[0] = stream;
    if (of->stream_count > 1) check(c, of, d->record(of->start, stream), "record an event");
    for (int i = 1; i < of->stream_count; i++) check(c, of, d->wait(of->streams[i], of->start, 0), "wait for an event");
    for (size_t i = 0; i < of->step_count; i++) enqueue_step(c, of, of->steps + i);
    if (!is_ordered) return;
    check(c, of, d->record(of->done, stream), "record an event");
    of->has_run = true;
    of->last_stream = stream;
}

static void run(context *c, irc_exe *exe, void *const *arguments, void *const *results, void *stream) {
    cuda *of = exe->cuda;
    void *before;
    check(c, of, of->driver.push(of->context), "use the GPU");
    pthread_mutex_lock(&of->lock);
    context inner = {.error = c->error, .blocks = c->blocks};
    if (setjmp(inner.out) == 0) enqueue(&inner, of, exe, arguments, results, stream);
    pthread_mutex_unlock(&of->lock);
    of->driver.pop(&before);
    if (c->error->status != IRC_OK) longjmp(c->out, 1);
}

typedef struct {
    void **arguments, **results; /* on the device */
    address_t memory;
} mirror;

/* Addresses of copies on the device, in one piece of memory. */
static void take_mirror(context *c, const cuda *of, const irc_exe *exe, mirror *made) {
    size_t count = exe->argument_count + exe->result_count;
    made->arguments = irc_take(c, count, sizeof *made->arguments);
    made->results = made->arguments + exe->argument_count;
    for (int pass = 0; pass < 2; pass++) {
        size_t end = 0;
        for (size_t i = 0; i < count; i++) {
            const spec *each = i < exe->argument_count ? exe->arguments + i : exe->results + (i - exe->argument_count);
            if (each->weight.data != NULL) continue;
            made->arguments[i] = (void *)(uintptr_t)(made->memory + end);
            end += (each->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
        if (pass == 0) check(c, of, of->driver.allocate(&made->memory, end + ALIGNMENT), "have memory of the GPU");
    }
    for (size_t i = 0; i < exe->result_count; i++)
        if (exe->donated[i] >= 0) made->results[i] = made->arguments[exe->donated[i]];
}

static void run_in(context *c, irc_exe *exe, void *const *arguments, void *const *results, mirror *on) {
    cuda *of = exe->cuda;
    take_mirror(c, of, exe, on);
    for (size_t i = 0; i < exe->argument_count; i++) {
        address_t to = (address_t)(uintptr_t)on->arguments[i], from = (address_t)(uintptr_t)arguments[i];
        if (exe->arguments[i].weight.data == NULL && exe->arguments[i].size != 0)
            check(c, of, of->driver.copy(to, from, exe->arguments[i].size, of->own_stream), "copy to the GPU");
    }
    run(c, exe, on->arguments, on->results, of->own_stream);
    for (size_t i = 0; i < exe->result_count; i++) {
        address_t to = (address_t)(uintptr_t)results[i], from = (address_t)(uintptr_t)on->results[i];
        if (exe->results[i].size != 0)
            check(c, of, of->driver.copy(to, from, exe->results[i].size, of->own_stream), "copy from the GPU");
    }
    check(c, of, of->driver.synchronize(of->own_stream), "run it");
}

static void run_host(context *c, irc_exe *exe, void *const *arguments, void *const *results) {
    cuda *of = exe->cuda;
    void *before;
    mirror *on = irc_take(c, 1, sizeof *on);
    check(c, of, of->driver.push(of->context), "use the GPU");
    context inner = {.error = c->error, .blocks = c->blocks};
    if (setjmp(inner.out) == 0) run_in(&inner, exe, arguments, results, on);
    if (on->memory != 0) of->driver.deallocate(on->memory);
    of->driver.pop(&before);
    if (c->error->status != IRC_OK) longjmp(c->out, 1);
}

static void free_cuda(irc_exe *exe) {
    cuda *of = exe->cuda;
    const driver *d = &of->driver;
    void *before;
    pthread_mutex_destroy(&of->lock);
    if (of->context == NULL) return;
    d->push(of->context);
    for (int i = 1; of->streams != NULL && i < of->stream_count; i++)
        if (of->streams[i] != NULL) d->destroy_stream(of->streams[i]);
    for (int i = 0; of->events != NULL && i < of->event_count; i++)
        if (of->events[i] != NULL) d->destroy_event(of->events[i]);
    if (of->own_stream != NULL) d->destroy_stream(of->own_stream);
    if (of->start != NULL) d->destroy_event(of->start);
    if (of->done != NULL) d->destroy_event(of->done);
    for (size_t i = 0; i < of->module_count; i++) d->unload(of->modules[i]);
    if (of->memory != 0) d->deallocate(of->memory);
    d->pop(&before);
    d->release(of->device);
}

static const target CUDA = {run, run_host, free_cuda};

void irc_load_cuda(context *c, irc_exe *exe, const node *document, int device) {
    const node *plan = irc_field(c, document, "plan");
    cuda *made = irc_take(c, 1, sizeof *made);
    void *before;
    pthread_mutex_init(&made->lock, NULL);
    exe->cuda = made;
    exe->target = &CUDA;
    irc_read_plan(c, made, exe, plan);
    irc_open_driver(c, &made->driver);
    open_device(c, made, irc_text(c, document, "arch"), device);
    check(c, made, made->driver.push(made->context), "use the GPU");
    context inner = {.error = c->error, .blocks = c->blocks};
    if (setjmp(inner.out) == 0) {
        make_streams(&inner, made);
        load_kernels(&inner, made, exe, document);
        fill_memory(&inner, made, exe, irc_list(&inner, plan, "constants"));
    }
    made->driver.pop(&before);
    if (c->error->status != IRC_OK) longjmp(c->out, 1);
    irc_drop_data(&exe->file);
}
