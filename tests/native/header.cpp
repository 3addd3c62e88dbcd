// irc.h in a C++ program: it names each function.
#include "irc.h"

#include <cstring>
#include <vector>

int main(int count, char **words) {
    irc_exe *exe = nullptr;
    irc_error error{};
    if (count != 2 || irc_load(words[1], 0, &exe, &error) != IRC_OK) return 1;
    irc_array x = irc_argument(exe, 0), y = irc_result(exe, 0);
    std::vector<float> ones(irc_bytes(&x) / irc_element_bytes(x.element), 1.0f), sums(irc_bytes(&y) / sizeof(float));
    x.data = ones.data();
    y.data = sums.data();
    bool is_right = irc_run(exe, &x, irc_argument_count(exe), &y, irc_result_count(exe), nullptr, &error) == IRC_OK &&
                    irc_run_host(exe, &x, 1, &y, 1, &error) == IRC_OK && irc_donated(exe, 0) == -1 &&
                    std::strcmp(irc_name(exe), "f") == 0 && std::strcmp(irc_target(exe), "cpu") == 0;
    irc_free(exe);
    return is_right && sums[0] > 10.8f && sums[0] < 10.9f ? 0 : 1;
}
