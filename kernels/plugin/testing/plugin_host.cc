// The process of a plug-in, for tests that do without the program `draftmark`.
#include "kernels/plugin/plugin_host.h"

int main(int argc, char** argv) {
  return argc == 2 ? draftmark::plugin::RunPluginHost(argv[1]) : 2;
}
