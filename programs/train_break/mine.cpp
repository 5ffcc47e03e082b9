// The second process of ./learn train --break mine: a training with what the learner wrote in lessons 24 to 27.
//
// Exit codes: 0 well, 1 the code threw an error, which is the last line that is printed, 2 it cannot be run as asked.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>

#include "train/options.hpp"
#include "train_break/trainings.hpp"

namespace {

/// What the checks allow (tools/run/supervisor.hpp): a loop that allocates or prints without end should not fill the memory.
void limit_memory() {
  const auto set = [](auto resource, std::size_t bytes) {
    rlimit limit{};
    getrlimit(resource, &limit);
    limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
    setrlimit(resource, &limit);
  };
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  set(RLIMIT_AS, pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (2ULL << 30U));
  set(RLIMIT_FSIZE, 8ULL << 20U);  // the file in memory that it prints into
}

}  // namespace

int main(int argc, char** argv) {
  using namespace attn::training;
  limit_memory();
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // each training has a core
  TrainOptions options;
  int losses = -1;
  CLI::App app("What the learner wrote trains", "train_mine");
  add_train_options(app, options);
  app.add_option("--losses", losses)->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return attn::report_usage(app, error);
  }
  std::signal(SIGINT, SIG_IGN);  // the program that draws the losses ends this one
  try {
    write_training(recipe_of(Break{"mine", "", ""}, options, true), Variant::right, losses);
  } catch (const std::exception& error) {
    std::cerr << "\nthrew an error: " << error.what() << std::endl;
    return 1;
  }
}
