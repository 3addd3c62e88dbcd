/* From the document to a plan of launches in the driver's form. */
#include "cuda.h"

#include <string.h>

#define MOST (INT64_C(1) << 48)

enum { CLUSTER = 4, PROGRAMMATIC = 6 }; /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION and _PROGRAMMATIC_STREAM_SERIALIZATION */

static size_t rounded(size_t size, size_t to) { return (size + to - 1) / to * to; }

static void read_slots(context *c, cuda *made, irc_exe *exe, const node *plan) {
    const node *constants = irc_list(c, plan, "constants");
    size_t arrays = exe->argument_count + exe->result_count;
    made->arena_slot = arrays;
    made->slot_count = arrays + 1 + constants->count;
    made->slots = irc_take(c, made->slot_count, sizeof *made->slots);
    made->at = irc_take(c, made->slot_count, sizeof *made->at);
    made->slot_sizes = irc_take(c, made->slot_count, sizeof *made->slot_sizes);
    made->arena = (size_t)irc_integer(c, plan, "arena", 0, MOST);
    made->memory_size = rounded(made->arena, ALIGNMENT);
    made->slot_sizes[arrays] = made->arena;
    for (size_t i = 0; i < exe->argument_count; i++) made->slot_sizes[i] = exe->arguments[i].size;
    for (size_t i = 0; i < exe->result_count; i++) made->slot_sizes[exe->argument_count + i] = exe->results[i].size;
    for (size_t i = 0; i < constants->count; i++) {
        made->slot_sizes[arrays + 1 + i] = irc_piece(c, &exe->file, constants->items + i).size;
        made->at[arrays + 1 + i] = made->memory_size;
        made->memory_size += rounded(made->slot_sizes[arrays + 1 + i], ALIGNMENT);
    }
    for (size_t i = 0; i < exe->argument_count; i++) {
        if (exe->arguments[i].weight.data == NULL) continue;
        made->at[i] = made->memory_size;
        made->memory_size += rounded(made->slot_sizes[i], ALIGNMENT);
    }
}

static void read_donated(context *c, irc_exe *exe, const node *plan) {
    const node *list = irc_list(c, plan, "donated");
    for (size_t i = 0; i < list->count; i++) {
        const node *pair = list->items + i;
        if (pair->kind != NODE_ARRAY || pair->count != 2) irc_fail(c, IRC_BAD_FILE, "its plan donates no pair");
        int64_t result = irc_value(c, pair->items, "donated", 0, (int64_t)exe->result_count - 1);
        int64_t argument = irc_value(c, pair->items + 1, "donated", 0, (int64_t)exe->argument_count - 1);
        if (exe->arguments[argument].weight.data != NULL)
            irc_fail(c, IRC_BAD_FILE, "its argument %s is a weight and written over", exe->arguments[argument].array.name);
        exe->donated[result] = (int)argument;
    }
}

static buffer read_buffer(context *c, const cuda *made, const irc_exe *exe, const node *from) {
    const char *space = irc_text(c, from, "space");
    size_t first = 0, count = exe->argument_count;
    if (strcmp(space, "result") == 0) {
        first = exe->argument_count;
        count = exe->result_count;
    } else if (strcmp(space, "arena") == 0) {
        first = made->arena_slot;
        count = 1;
    } else if (strcmp(space, "constant") == 0) {
        first = made->arena_slot + 1;
        count = made->slot_count - first;
    } else if (strcmp(space, "argument") != 0) {
        irc_fail(c, IRC_BAD_FILE, "its plan has a buffer in %s, which this loader does not know", space);
    }
    size_t slot = first + (size_t)irc_integer(c, from, "index", 0, (int64_t)count - 1);
    int64_t most = (int64_t)made->slot_sizes[slot], offset = irc_integer(c, from, "offset", 0, most);
    return (buffer){slot, (uint64_t)offset, (size_t)irc_integer(c, from, "size", 0, most - offset)};
}

/* CUtensorMapDataType: bytes and 16-bit integers are moved as unsigned ones. */
static int data_type(context *c, const char *name) {
    switch (irc_element_of(c, name)) {
    case IRC_I32: return 3;
    case IRC_I64: return 5;
    case IRC_F16: return 6;
    case IRC_F32: return 7;
    case IRC_F64: return 8;
    case IRC_BF16: return 9;
    case IRC_I16: return 1;
    default: return 0;
    }
}

/* The numbers of a list, the last one first. */
static size_t reversed(context *c, const node *from, const char *name, int64_t least, int64_t *found) {
    const node *list = irc_list(c, from, name);
    if (list->count > MOST_AXES) irc_fail(c, IRC_BAD_FILE, "its plan has a tensor map of %zu axes", list->count);
    for (size_t i = 0; i < list->count; i++)
        found[i] = irc_value(c, list->items + (list->count - 1 - i), name, least, MOST);
    return list->count;
}

static const map *read_map(context *c, const node *from) {
    map *made = irc_take(c, 1, sizeof *made);
    const char *element = irc_text(c, from, "element");
    int64_t lists[6][MOST_AXES] = {{0}};
    size_t rank = reversed(c, from, "extents", 0, lists[0]), boxes = reversed(c, from, "box", 0, lists[2]);
    size_t strides = reversed(c, from, "strides", 0, lists[1]), corners = reversed(c, from, "steps", 0, lists[3]);
    size_t lower = reversed(c, from, "lower", -MOST, lists[4]), upper = reversed(c, from, "upper", -MOST, lists[5]);
    bool is_window = corners != 0;
    if (rank == 0 || strides != rank || lower != corners || upper != corners || boxes != (is_window ? 2 : rank) ||
        (is_window && corners + 2 != rank))
        irc_fail(c, IRC_BAD_FILE, "its plan has a tensor map whose lists disagree");
    made->type = data_type(c, element);
    made->rank = (int)rank;
    made->corner_count = (int)corners;
    int64_t swizzle = irc_integer(c, from, "swizzle", 0, 128);
    made->swizzle = swizzle == 128 ? 3 : swizzle == 64 ? 2 : swizzle == 32 ? 1 : 0;
    size_t size = irc_element_bytes(irc_element_of(c, element));
    for (size_t i = 0; i < rank; i++) {
        made->extents[i] = (uint64_t)lists[0][i];
        if (i + 1 < rank) made->strides[i] = (uint64_t)lists[1][i + 1] * size;
        made->box[i] = (uint32_t)lists[2][i];
        made->steps[i] = 1;
    }
    for (size_t i = 0; i < corners; i++) {
        made->steps[i + 1] = (uint32_t)lists[3][i];
        made->lower[i] = (int)lists[4][i];
        made->upper[i] = (int)lists[5][i];
    }
    return made;
}

static void write_number(context *c, const node *from, uint8_t *cell) {
    irc_element element = irc_element_of(c, irc_text(c, from, "element"));
    const node *value = irc_field(c, from, "value");
    bool is_float = element == IRC_F64 || element == IRC_F32;
    double number = value->kind == NODE_FLOAT ? value->number : (double)value->integer;
    float narrow = (float)number;
    if (irc_field(c, from, "dim")->kind != NODE_NULL || (!is_float && value->kind != NODE_INTEGER) ||
        element == IRC_F16 || element == IRC_BF16 || element == IRC_F8E4M3 || element == IRC_F8E5M2)
        irc_fail(c, IRC_BAD_FILE, "its plan has a number as parameter that this loader does not know");
    if (element == IRC_F64)
        memcpy(cell, &number, sizeof number);
    else if (element == IRC_F32)
        memcpy(cell, &narrow, sizeof narrow);
    else
        for (size_t i = 0; i < irc_element_bytes(element); i++) cell[i] = (uint8_t)((uint64_t)value->integer >> 8 * i);
}

static void read_parameter(context *c, cuda *made, const irc_exe *exe, const node *from, uint8_t *cell) {
    if (irc_is(c, from, "Scalar")) {
        write_number(c, from, cell);
        return;
    }
    bool is_map = irc_is(c, from, "TensorMap");
    const node *memory = is_map ? irc_field(c, from, "buffer") : from;
    made->fills[made->fill_count++] =
        (fill){read_buffer(c, made, exe, memory), is_map ? read_map(c, from) : NULL, cell, ~(address_t)0};
}

/* A cell for each parameter, or an array of structs, one for each set (irc/support/parameters.py). */
static void read_parameters(context *c, cuda *made, const irc_exe *exe, const node *from, step *into) {
    const node *list = irc_list(c, from, "parameters");
    int64_t most_sets = irc_integer(c, from, "max_sets", 1, 1 << 12), sets = irc_integer(c, from, "sets", 1, most_sets);
    size_t count = list->count / (size_t)sets, end = 0, largest = 8;
    if (count * (size_t)sets != list->count) irc_fail(c, IRC_BAD_FILE, "its plan has a launch of half a set");
    into->parameters = irc_take(c, most_sets == 1 ? count + 1 : 1, sizeof *into->parameters);
    if (most_sets == 1) {
        for (size_t i = 0; i < count; i++) {
            into->parameters[i] = irc_take(c, 1, MAP_BYTES);
            read_parameter(c, made, exe, list->items + i, into->parameters[i]);
        }
        return;
    }
    size_t *offsets = irc_take(c, count, sizeof *offsets);
    for (size_t i = 0; i < count; i++) {
        bool is_map = irc_is(c, list->items + i, "TensorMap");
        offsets[i] = rounded(end, is_map ? MAP_ALIGNMENT : 8);
        end = offsets[i] + (is_map ? MAP_BYTES : 8);
        if (is_map) largest = MAP_ALIGNMENT;
    }
    size_t size = rounded(end, largest);
    uint8_t *structs = irc_take(c, (size_t)most_sets, size);
    into->parameters[0] = structs;
    for (size_t i = 0; i < list->count; i++)
        read_parameter(c, made, exe, list->items + i, structs + i / count * size + offsets[i % count]);
}

static void read_three(context *c, const node *from, const char *name, uint32_t found[3]) {
    const node *list = irc_list(c, from, name);
    if (list->count != 3) irc_fail(c, IRC_BAD_FILE, "its plan has a %s without three extents", name);
    for (size_t i = 0; i < 3; i++) found[i] = (uint32_t)irc_value(c, list->items + i, name, 1, INT32_MAX);
}

static void read_launch(context *c, cuda *made, const irc_exe *exe, const node *from, step *into) {
    launch_attribute cluster = {.id = CLUSTER}, overlap = {.id = PROGRAMMATIC, .value = {1}};
    into->name = irc_text(c, from, "kernel");
    read_three(c, from, "grid", into->config.grid);
    read_three(c, from, "cluster", cluster.value);
    into->config.block[0] = (uint32_t)irc_integer(c, from, "block", 1, 1024);
    into->config.block[1] = into->config.block[2] = 1;
    into->config.shared = (uint32_t)irc_integer(c, from, "shared", 0, INT32_MAX);
    into->config.attributes = into->attributes;
    if (cluster.value[0] * cluster.value[1] * cluster.value[2] != 1)
        into->attributes[into->config.attribute_count++] = cluster;
    if (irc_integer(c, from, "overlaps", 0, 1)) into->attributes[into->config.attribute_count++] = overlap;
    read_parameters(c, made, exe, from, into);
}

static void read_step(context *c, cuda *made, const irc_exe *exe, const node *from, step *into) {
    into->stream = (int)irc_integer(c, from, "stream", 0, made->stream_count - 1);
    if (irc_is(c, from, "Launch")) {
        into->kind = LAUNCH;
        read_launch(c, made, exe, from, into);
    } else if (irc_is(c, from, "Copy")) {
        into->kind = COPY;
        into->from = read_buffer(c, made, exe, irc_field(c, from, "source"));
        into->to = read_buffer(c, made, exe, irc_field(c, from, "destination"));
        if (into->from.size != into->to.size) irc_fail(c, IRC_BAD_FILE, "its plan has a copy between two sizes");
    } else if (irc_is(c, from, "Memset")) {
        into->kind = MEMSET;
        into->to = read_buffer(c, made, exe, irc_field(c, from, "buffer"));
        into->value = (int)irc_integer(c, from, "value", 0, 255);
    } else if (irc_is(c, from, "Record") || irc_is(c, from, "Wait")) {
        into->kind = irc_is(c, from, "Record") ? RECORD : WAIT;
        into->event = (int)irc_integer(c, from, "event", 0, made->event_count - 1);
    } else {
        irc_fail(c, IRC_BAD_FILE, "its plan has a step that this loader does not know: %s", irc_text(c, from, "is"));
    }
}

void irc_read_plan(context *c, cuda *made, irc_exe *exe, const node *plan) {
    if (irc_list(c, plan, "dims")->count != 0)
        irc_fail(c, IRC_BAD_FILE, "its extents are known when it is called, which Python alone runs: compile one size");
    read_donated(c, exe, plan);
    read_slots(c, made, exe, plan);
    made->stream_count = (int)irc_integer(c, plan, "streams", 1, 1024);
    made->event_count = (int)irc_integer(c, plan, "events", 0, 1 << 20);
    const node *list = irc_list(c, plan, "steps");
    size_t most = 0;
    for (size_t i = 0; i < list->count; i++)
        if (irc_is(c, list->items + i, "Launch")) most += irc_list(c, list->items + i, "parameters")->count;
    made->fills = irc_take(c, most, sizeof *made->fills);
    made->step_count = list->count;
    made->steps = irc_take(c, list->count, sizeof *made->steps);
    for (size_t i = 0; i < list->count; i++) read_step(c, made, exe, list->items + i, made->steps + i);
}
