/* Calls that do not fit an executable `(x: f32[8, 4]) -> f32[8]`, and a good one; a line for each. */
#include <stdio.h>

#include "irc.h"

static irc_exe *exe;

static void call(irc_array *x, size_t inputs, irc_array *y, size_t outputs, void *stream) {
    irc_error error;
    irc_status status = irc_run(exe, x, inputs, y, outputs, stream, &error);
    printf("%d %s\n", status, error.message);
}

int main(int count, char **words) {
    float data[64] = {0}, sums[8] = {0};
    int64_t wrong[] = {4, 8};
    irc_error error;
    if (count != 2 || irc_load(words[1], 0, &exe, &error) != IRC_OK) return 1;
    irc_array x = irc_argument(exe, 0), y = irc_result(exe, 0), other;
    x.data = data;
    y.data = sums;
    call(&x, 0, &y, 1, NULL);
    call(&x, 1, &y, 2, NULL);
    other = x, other.shape = wrong, call(&other, 1, &y, 1, NULL);
    other = x, other.rank = 1, call(&other, 1, &y, 1, NULL);
    other = x, other.shape = NULL, call(&other, 1, &y, 1, NULL);
    other = x, other.element = (irc_element)99, call(&other, 1, &y, 1, NULL);
    other = x, other.data = NULL, call(&other, 1, &y, 1, NULL);
    other = x, other.data = (char *)data + 1, call(&other, 1, &y, 1, NULL);
    other = y, other.element = IRC_F64, call(&x, 1, &other, 1, NULL);
    other = y, other.data = data + 31, call(&x, 1, &other, 1, NULL);
    call(&x, 1, &y, 1, data);
    call(&x, 1, &y, 1, NULL);
    irc_status status = irc_run(exe, &x, 0, &y, 1, NULL, NULL);
    irc_free(exe);
    irc_free(NULL);
    return status == IRC_BAD_ARGUMENT && sums[7] == 4.0f ? 0 : 1;
}
