/* A plan of the target cuda in the driver's form: cuda_plan.c makes it of the document, cuda.c runs it. */
#ifndef IRC_CUDA_H
#define IRC_CUDA_H

#include <pthread.h>

#include "driver.h"

enum { MAP_BYTES = 128, MAP_ALIGNMENT = 64, MOST_AXES = 5, ALIGNMENT = 256 };

/* Addresses of a run, by slot: arguments, then results, the arena, constants. */
typedef struct {
    size_t slot;
    uint64_t offset;
    size_t size;
} buffer;

/* A CUtensorMap (irc/runtime/plan.py); lists are innermost first here. */
typedef struct {
    int type, swizzle, rank, corner_count;
    uint64_t extents[MOST_AXES], strides[MOST_AXES]; /* strides in bytes, from the second axis on */
    uint32_t box[MOST_AXES], steps[MOST_AXES];
    int lower[MOST_AXES], upper[MOST_AXES];
} map;

/* A place among the parameters that follows from an address. */
typedef struct {
    buffer buffer;
    const map *map; /* NULL where the address itself stands there */
    uint8_t *cell;
    address_t last;
} fill;

typedef enum { LAUNCH, COPY, MEMSET, RECORD, WAIT } step_kind;

typedef struct {
    step_kind kind;
    int stream, event, value;
    buffer from, to;
    const char *name; /* of the kernel */
    void *function;
    launch_config config;
    launch_attribute attributes[2];
    void **parameters;
} step;

typedef struct cuda {
    driver driver;
    int device;
    void *context;
    void **modules;
    size_t module_count;
    address_t memory; /* the arena, constants and weights */
    size_t arena, memory_size;
    address_t *slots;    /* of a run */
    size_t *at;          /* of slots with memory of their own: the bytes before it in `memory` */
    size_t *slot_sizes;
    size_t slot_count, arena_slot;
    fill *fills;
    size_t fill_count;
    step *steps;
    size_t step_count;
    void **streams, **events; /* of the plan, the first stream is the caller's */
    int stream_count, event_count;
    void *start, *done, *own_stream;
    void *last_stream;
    bool has_run;
    pthread_mutex_t lock;
} cuda;

/* Reads arena, slots, steps and fills. Kernels are not loaded. */
void irc_read_plan(context *c, cuda *made, irc_exe *exe, const node *plan);

#endif
