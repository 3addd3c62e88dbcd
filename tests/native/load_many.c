/* Loads each file that is named, and prints a line for it: the status and the message. */
#include <stdio.h>

#include "irc.h"

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        irc_exe *exe;
        irc_error error;
        irc_status status = irc_load(words[i], 0, &exe, &error);
        printf("%d %s\n", status, error.message);
        if ((status != IRC_OK) != (exe == NULL)) return 1;
        irc_free(exe);
        if (irc_load(words[i], 0, &exe, NULL) != status) return 1;
        irc_free(exe);
    }
    return 0;
}
