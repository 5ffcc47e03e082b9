#include "train_program.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>

#include "crash.hpp"
#include "learn/commands/train_options.hpp"
#include "system/files.hpp"
#include "session.hpp"

namespace attn::training {

namespace {

constexpr const char* with_reference = "With the reference's parts: ./learn train --reference\n";
constexpr const char* crashed = "\nThe training crashed. With the reference's parts: ./learn train --reference\n";

int run(const learn::TrainOptions& options, const MakeSteps& make_steps) {
  std::optional<Session> session;
  try {
    require_new_file(options.svg);
    session.emplace(open_session(options));
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << "\n";
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  return run_session(*session, *make_steps(session->training), options);
}

}  // namespace

int train_program(int argc, char** argv, bool fast, const MakeSteps& make_steps) {
  learn::TrainOptions options;
  CLI::App app("A small transformer learns, with what you wrote", "./learn train");
  learn::add_train_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.fast && !fast) {
    std::cerr << "--fast is another program's: ./learn train --fast starts it\n";
    return 2;
  }
  options.fast = fast;
  try {
    if (!options.reference) report_crashes(crashed);
    return run(options, make_steps);
  } catch (const NotWritable& error) {
    std::cerr << error.what() << "\n";
    return 2;
  } catch (const NotANumber& error) {
    std::cerr << "\n" << error.what() << "\n" << (options.reference ? "" : with_reference);
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "\nThe training threw an error: " << error.what() << "\n" << (options.reference ? "" : with_reference);
    return 1;
  }
}

}  // namespace attn::training
