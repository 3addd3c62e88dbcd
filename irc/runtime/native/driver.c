/* The CUDA driver's functions. It stays loaded: nothing unloads it safely. */
#include "driver.h"

#include <dlfcn.h>

void irc_open_driver(context *c, driver *found) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) irc_fail(c, IRC_OTHER_DEVICE, "it is for a CUDA GPU, and here is no driver of one (libcuda.so.1)");
#define TAKEN(name, symbol, arguments)                                                                                 \
    *(void **)&found->name = dlsym(library, symbol);                                                                   \
    if (found->name == NULL) irc_fail(c, IRC_OTHER_DEVICE, "the CUDA driver here is too old: it has no " symbol);
    DRIVER_FUNCTIONS(TAKEN)
#undef TAKEN
    irc_check(c, found, found->init(0), "start the driver", "");
}

void irc_check(context *c, const driver *of, int status, const char *doing, const char *of_what) {
    if (status == 0) return;
    const char *name = NULL, *text = NULL;
    of->error_name(status, &name);
    of->error_text(status, &text);
    irc_status kind = status == 2 ? IRC_NO_MEMORY : IRC_FAILED; /* CUDA_ERROR_OUT_OF_MEMORY */
    irc_fail(c, kind, "cannot %s%s: %s: %s", doing, of_what, name == NULL ? "?" : name, text == NULL ? "?" : text);
}
