/* Saved executables of irc (FILE.irx) from C and C++: docs/executables.md.
 *
 *     irc_exe *exe;
 *     irc_error error;
 *     if (irc_load("dense.irx", 0, &exe, &error)) puts(error.message);
 *
 * Functions that can fail give an irc_status and, unless `error` is NULL, a message. An executable may be run by several
 * threads at once. It lives in the process that loaded it: a forked child loads its own.
 */
#ifndef IRC_H
#define IRC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct irc_exe irc_exe;

typedef enum {
    IRC_OK,
    IRC_BAD_FILE,     /* it cannot be read, is damaged, or of another format */
    IRC_OTHER_DEVICE, /* it is for another chip, or there is none */
    IRC_BAD_ARGUMENT, /* a call with other arrays than the executable takes, or an index out of range in them */
    IRC_NO_MEMORY,
    IRC_FAILED /* the driver or the system refused */
} irc_status;

typedef struct {
    irc_status status;
    char message[1000];
} irc_error;

typedef enum {
    IRC_F64,
    IRC_F32,
    IRC_F16,
    IRC_BF16,
    IRC_F8E4M3,
    IRC_F8E5M2,
    IRC_I64,
    IRC_I32,
    IRC_I16,
    IRC_I8,
    IRC_U8,
    IRC_BOOL /* a byte, 0 or 1 */
} irc_element;

/* A row-major array. `data` is in memory of the host for the target cpu, and a device address for cuda, a multiple of 16. */
typedef struct {
    const char *name;
    irc_element element;
    int rank;
    const int64_t *shape; /* `rank` extents, outermost first */
    void *data;
} irc_array;

/* Loads a file for a device: its number for the target cuda, and 0 for cpu. `*exe` is NULL where that fails. */
irc_status irc_load(const char *path, int device, irc_exe **exe, irc_error *error);

/* Frees an executable that nothing runs any more. NULL is fine. */
void irc_free(irc_exe *exe);

const char *irc_name(const irc_exe *exe);
const char *irc_target(const irc_exe *exe); /* "cpu" or "cuda" */

/* The arguments that have no weight in the file, and the results. `data` of an array is NULL: give it yours, and pass it
 * to irc_run. Name and shape live as long as the executable. `number` is less than the count. */
size_t irc_argument_count(const irc_exe *exe);
irc_array irc_argument(const irc_exe *exe, size_t number);
size_t irc_result_count(const irc_exe *exe);
irc_array irc_result(const irc_exe *exe, size_t number);

/* The number of the argument that a result is written over, whose `data` it shares, or -1. */
int irc_donated(const irc_exe *exe, size_t result);

size_t irc_element_bytes(irc_element element);
size_t irc_bytes(const irc_array *array);

/* One run. Outputs share no memory with inputs, but for donated ones. `stream` is a CUstream for the target cuda, where
 * the run is enqueued and not waited for (NULL is the default stream), and NULL for cpu. */
irc_status irc_run(irc_exe *exe, const irc_array *inputs, size_t input_count, const irc_array *outputs,
                   size_t output_count, void *stream, irc_error *error);

/* One run on arrays in memory of the host, for either target; the results are there when it returns. */
irc_status irc_run_host(irc_exe *exe, const irc_array *inputs, size_t input_count, const irc_array *outputs,
                        size_t output_count, irc_error *error);

#ifdef __cplusplus
}
#endif

#endif
