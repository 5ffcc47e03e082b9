// The second process of ./learn train --break mine: a training with what the learner wrote in lessons 24 to 27.
//
// Exit codes: 0 well, 1 the code threw an error, which is the last line that is printed, 2 it cannot be run as asked.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "train/options.hpp"
#include "train_break/trainings.hpp"

int main(int argc, char** argv) {
  using namespace attn::training;
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // each training has a core
  TrainOptions options;
  int losses = -1;
  CLI::App app("What the learner wrote trains", "train_mine");
  add_train_options(app, options);
  app.add_option("--losses", losses)->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::signal(SIGINT, SIG_IGN);  // the program that draws the losses ends this one
  try {
    write_training(recipe_of(Break{"mine", "", ""}, options, true), Variant::right, losses);
  } catch (const std::exception& error) {
    std::cerr << "\nthrew an error: " << error.what() << std::endl;
    return 1;
  }
}
