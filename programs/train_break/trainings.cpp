#include "train_break/trainings.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>

#include "attn/initialization.hpp"
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

void report(int descriptor, double value) {
  if (write(descriptor, &value, sizeof value) != sizeof value) _exit(1);  // the reader has ended
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
