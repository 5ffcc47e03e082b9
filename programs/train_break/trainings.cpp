#include "train_break/trainings.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "attn/initialization.hpp"
#include "lesson/text.hpp"
#include "train/tasks.hpp"

namespace attn::training {

namespace {

constexpr double dropped = 0.5;

Variant chosen = Variant::right;
bool in_training = true;
std::mt19937_64 dropout_generator;

double root_of_width(const LanguageModel& model) {
  return std::sqrt(static_cast<double>(model.config().attention.head_dim));
}

bool drops() { return in_training && (chosen == Variant::dropout || chosen == Variant::unscaled_dropout); }

/// What a kept weight lacks when it is not divided by 1 - p.
double missing_factor() { return drops() && chosen == Variant::unscaled_dropout ? 1 - dropped : 1; }

Mask drawn_keep(arma::uword L, arma::uword S, arma::uword N) {
  Mask keep(L, S, N);
  keep.imbue([] { return static_cast<double>(dropout_generator() >> 11) * 0x1p-53 >= dropped ? 1U : 0U; });
  return keep;
}

/// From the gradients of as_computed(model) to those of the model.
void pull_back(const LanguageModel& model, LanguageModelGradients& gradients) {
  for (BlockGradients& block : gradients.blocks) {
    LinearGradients& query = block.attention.query_proj;
    LinearGradients& key = block.attention.key_proj;
    if (chosen == Variant::unscaled) {
      query.weight *= root_of_width(model);
      query.bias *= root_of_width(model);
    }
    if (chosen == Variant::shared_projection) {
      query.weight += key.weight;
      query.bias += key.bias;
      key.weight.zeros();
      key.bias.zeros();
    }
  }
}

std::size_t size_of(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) throw std::runtime_error("a file in memory is lost");
  return static_cast<std::size_t>(status.st_size);
}

/// What others write there now does not move where they write.
std::string contents_of(int file) {
  std::string bytes(size_of(file), '\0');
  const ssize_t count = pread(file, bytes.data(), bytes.size(), 0);
  if (count != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("losses are lost");
  return bytes;
}

}  // namespace

void choose_variant(Variant variant, std::uint64_t seed) {
  chosen = variant;
  dropout_generator.seed(seed);
}

void set_training(bool training) { in_training = training; }

LanguageModel as_computed(LanguageModel model) {
  for (DecoderBlock& block : model.blocks) {
    Linear& query = block.attention.query_proj;
    if (chosen == Variant::unscaled) {
      query.weight *= root_of_width(model);
      query.bias *= root_of_width(model);
    }
    if (chosen == Variant::shared_projection) block.attention.key_proj = query;
  }
  return model;
}

TrainingReport train_variant(const Recipe& recipe, Variant variant,
                             const std::function<bool(const std::vector<double>&)>& go_on) {
  choose_variant(variant, recipe.seed);
  Training run = new_run(recipe);
  const Task& task = task_named(recipe.task);
  const TrainingConfig config = training_config_of(recipe);
  TrainingReport report;
  while (report.losses.size() < recipe.steps) {
    const Batch batch = task.draw(batch_size, run.examples);
    report.losses.push_back(train_step(run.model, run.state, {batch}, config).loss);
    if (!go_on(report.losses) || !std::isfinite(report.losses.back())) return report;
  }
  set_training(false);
  std::mt19937_64 held_out = held_out_generator(recipe);
  const Batch batch = task.draw(300, held_out);
  const double loss = variant_loss_and_gradients(run.model, batch.ids, batch.targets).loss;
  LanguageModel model = as_computed(run.model);
  report.outcome = Outcome{loss, accuracy_of(model, batch)};
  return report;
}

Recipe recipe_of(const Break& broken, TrainOptions options, bool task_was_given) {
  if (!task_was_given) options.task = broken.task;
  Recipe recipe = recipe_of(options);
  recipe.heads = broken.heads;
  recipe.kv_heads = broken.heads;
  return recipe;
}

void write_training(const Recipe& recipe, Variant variant, int file) {
  const auto report = [file](const auto& x) { return write(file, &x, sizeof x) == sizeof x; };
  const auto outcome =
      train_variant(recipe, variant, [&](const auto& losses) { return report(losses.back()); }).outcome;
  if (outcome) report(*outcome);
}

TrainingProcess::TrainingProcess(const Recipe& recipe)
    : steps_(recipe.steps),
      file_(memfd_create("losses", MFD_CLOEXEC)),
      prints_(memfd_create("prints", MFD_CLOEXEC)),
      process_(file_ < 0 || prints_ < 0 ? -1 : fork()) {
  if (process_ < 0) throw std::runtime_error(std::string("no second process: ") + std::strerror(errno));
  if (process_ != 0) return;
  std::signal(SIGINT, SIG_IGN);      // whoever reads ends it
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // also where it is killed
}

TrainingProcess::TrainingProcess(const Recipe& recipe, Variant variant, const std::string& mistake)
    : TrainingProcess(recipe) {
  if (process_ > 0) return;
  if (!mistake.empty()) setenv("ATTN_MISTAKE", mistake.c_str(), 1);
  try {
    write_training(recipe, variant, file_);
  } catch (const std::exception&) {  // a mistake may lead to shapes that do not fit
  }
  _exit(0);
}

TrainingProcess::TrainingProcess(const Recipe& recipe, const std::string& program) : TrainingProcess(recipe) {
  if (process_ > 0) return;
  const std::string task = "--task=" + recipe.task, steps = "--steps=" + std::to_string(recipe.steps),
                    seed = "--seed=" + std::to_string(recipe.seed), losses = "--losses=" + std::to_string(file_);
  fcntl(file_, F_SETFD, 0);
  dup2(prints_, STDOUT_FILENO);
  dup2(prints_, STDERR_FILENO);
  execl(program.c_str(), program.c_str(), task.c_str(), steps.c_str(), seed.c_str(), losses.c_str(), nullptr);
  const std::string why = program + " cannot be run: " + std::strerror(errno) + "\n";
  if (write(STDERR_FILENO, why.data(), why.size()) < 0) _exit(2);
  _exit(1);
}

TrainingProcess::~TrainingProcess() {
  wait([] { return false; });
  close(file_);
  close(prints_);
}

void TrainingProcess::wait(const std::function<bool()>& keep_waiting, std::chrono::seconds longest) {
  using Clock = std::chrono::steady_clock;
  auto last_step = Clock::now();
  std::size_t size = 0;  // of the losses so far
  while (process_ > 0 && waitpid(process_, &status_, WNOHANG) == 0) {
    if (size != size_of(file_)) {
      size = size_of(file_);
      last_step = Clock::now();
    }
    if (Clock::now() - last_step > longest) {
      stopped_ = "was stopped: its next step took more than " + std::to_string(longest.count()) +
                 " s: a loop that never ends?";
      kill(process_, SIGKILL);
      waitpid(process_, &status_, 0);
      break;
    }
    if (keep_waiting()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } else {
      kill(process_, SIGKILL);
    }
  }
  process_ = -1;
}

std::string TrainingProcess::failure() const {
  if (!stopped_.empty()) return stopped_;
  if (WIFSIGNALED(status_)) return std::string("crashed (") + strsignal(WTERMSIG(status_)) + ")";
  if (status_ == 0) return "";
  const std::vector<std::string> rows = lines_of(contents_of(prints_));
  return rows.empty() ? "ended by itself" : rows.back();
}

TrainingReport TrainingProcess::report() const {
  const std::string bytes = contents_of(file_);
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  if (values.size() <= steps_) return {values, {}};
  return {{values.begin(), values.end() - 2}, Outcome{values[steps_], values[steps_ + 1]}};
}

}  // namespace attn::training

namespace attn {

using namespace training;

LossAndGradients variant_loss_and_gradients(const LanguageModel& model, const arma::umat& ids,
                                            const arma::umat& targets) {
  LossAndGradients result = loss_and_gradients(as_computed(model), ids, targets);
  pull_back(model, result.gradients);
  return result;
}

AttentionForward variant_attention_forward(const arma::cube& Q, const arma::cube& K, const arma::cube& V,
                                           const Mask& mask, const Mask& keep, double p) {
  if (!drops()) return attention_forward(Q, K, V, mask, keep, p);
  AttentionForward result = attention_forward(Q, K, V, mask, drawn_keep(Q.n_rows, K.n_rows, Q.n_slices), dropped);
  result.context *= missing_factor();
  return result;
}

AttentionGradients variant_attention_backward(const arma::cube& d_context, const KeptAttention& kept) {
  return attention_backward(d_context * missing_factor(), kept);
}

}  // namespace attn
