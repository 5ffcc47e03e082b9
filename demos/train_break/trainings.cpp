#include "trainings.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tasks.hpp"
#include "trainer.hpp"

namespace attn::training {

namespace {

void report(int descriptor, double value) {
  if (write(descriptor, &value, sizeof value) != sizeof value) _exit(1);  // nobody reads any more
}

/// In the new process: reports each loss, then the outcome.
void train(const Recipe& recipe, int descriptor) {
  Training run = new_run(recipe);
  const Task& task = task_named(recipe.task);
  const TrainingConfig config = training_config_of(recipe);
  for (arma::uword step = 0; step < recipe.steps; ++step) {
    const double loss = train_step(run.model, run.state, {task.draw(batch_size, run.examples)}, config).loss;
    report(descriptor, loss);
    if (!std::isfinite(loss)) return;
  }
  set_training(false);
  std::mt19937_64 held_out = held_out_generator(recipe);
  const Batch batch = task.draw(300, held_out);
  report(descriptor, variant_loss_and_gradients(run.model, batch.ids, batch.targets).loss);
  LanguageModel model = as_computed(run.model);
  report(descriptor, accuracy_of(model, batch));
}

}  // namespace

TrainingProcess::TrainingProcess(const Recipe& recipe, Variant variant, const std::string& mistake)
    : steps_(recipe.steps) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  process_ = fork();
  if (process_ < 0) throw std::runtime_error(std::string("no second process: ") + std::strerror(errno));
  if (process_ == 0) {
    std::signal(SIGINT, SIG_IGN);  // whoever reads ends it
    close(ends[0]);
    if (!mistake.empty()) setenv("ATTN_MISTAKE", mistake.c_str(), 1);
    choose_variant(variant, recipe.seed);
    int result = 0;
    try {
      train(recipe, ends[1]);
    } catch (const std::exception&) {  // a mistake may lead to shapes that do not fit
      result = 1;
    }
    _exit(result);
  }
  close(ends[1]);
  descriptor_ = ends[0];
}

TrainingProcess::~TrainingProcess() {
  stop();
  close(descriptor_);
}

bool TrainingProcess::read() {
  char bytes[4096];
  const ssize_t count = ::read(descriptor_, bytes, sizeof bytes);
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) return false;
  unread_.insert(unread_.end(), bytes, bytes + count);
  std::vector<double> values(unread_.size() / sizeof(double));
  if (values.empty()) return true;
  std::memcpy(values.data(), unread_.data(), values.size() * sizeof(double));
  unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(values.size() * sizeof(double)));
  for (const double value : values) {
    if (losses_.size() < steps_) {
      losses_.push_back(value);
    } else if (!outcome_) {
      outcome_ = Outcome{value, 0};
    } else {
      outcome_->accuracy = value;
    }
  }
  return true;
}

void TrainingProcess::stop() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace attn::training
