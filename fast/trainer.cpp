#include "trainer.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "threads.hpp"
#include "trainer_parts.hpp"
#include "units.hpp"

namespace attn::fast {

namespace {

using std::size_t;

void refuse(bool wrong, const std::string& what) {
  if (wrong) throw std::invalid_argument(what);
}

/// Checks a configuration, and returns it with head_dim.
LanguageModelConfig checked(LanguageModelConfig config) {
  DecoderAttentionConfig& attention = config.attention;
  const bool gpt2 = config.architecture == Architecture::gpt2;
  require_positive("vocab_size", config.vocab_size);
  require_positive("num_layers", config.num_layers);
  require_positive("hidden_dim", config.hidden_dim);
  require_positive("embed_dim", attention.embed_dim);
  require_multiple("num_heads", attention.num_heads, "num_kv_heads", attention.num_kv_heads);
  if (attention.head_dim == 0) {
    attention.head_dim = require_multiple("embed_dim", attention.embed_dim, "num_heads", attention.num_heads);
    attention.head_dim /= attention.num_heads;
  }
  require_multiple("head_dim", attention.head_dim, "a pair's width", 2);
  if (!attention.rope_speeds.is_empty()) {
    require_shape("rope_speeds", attention.rope_speeds, {{"1", 1}, {"D/2", attention.head_dim / 2}});
  }
  if (gpt2) require_positive("max_position", config.max_position);
  refuse(!gpt2 && config.max_position != 0, "max_position is not 0: llama has no table of positions");
  refuse(!gpt2 && attention.pairing != RopePairing::half_split, "pairing: the trainer turns half-split pairs only");
  refuse(attention.qk_norm, "qk_norm is true: the trainer does not normalize queries and keys");
  refuse(attention.soft_cap != 0, "soft_cap is not 0: the trainer does not cap scores");
  return config;
}

size_t counted(const Batch& batch) {
  size_t count = 0;
  for (const arma::uword target : batch.targets) count += target != ignored_target;
  return count;
}

std::vector<double*> columns_of(const std::vector<ParameterView>& views) {
  std::vector<double*> columns;
  for (const ParameterView& view : views) columns.push_back(view.values);
  return columns;
}

}  // namespace

Trainer::Parts::Parts(const LanguageModelConfig& given, size_t threads, const Kernels& of_machine)
    : config(checked(given)),
      kernels(of_machine),
      R(kernels.rows),
      V(config.vocab_size),
      E(config.attention.embed_dim),
      H(config.attention.num_heads),
      G(config.attention.num_kv_heads),
      D(config.attention.head_dim),
      F(config.hidden_dim),
      gated(config.architecture != Architecture::gpt2),
      W((H + 2 * G) * D),
      U(gated ? 2 * F : F),
      row_E(stride_of(E)),
      row_C(stride_of(H * D)),
      row_F(stride_of(F)),
      row_U(stride_of(U)),
      row_W(stride_of(W)),
      row_V(stride_of(divided_up(V, R) * R)),
      parameters(config, R),
      layers(config.num_layers),
      streams(config.num_layers + 1),
      owns(threads),
      team(threads) {}

void Trainer::Parts::check(const Batch& of_step) const {
  require_shape("ids", of_step.ids, {{"L"}, {"B"}});
  require_shape("targets", of_step.targets, {{"L", of_step.ids.n_rows}, {"B", of_step.ids.n_cols}});
  require_at_most("ids, its largest,", of_step.ids.max(), "V - 1", V - 1);
  for (const arma::uword target : of_step.targets) {
    refuse(target != ignored_target && target >= V,
           "targets holds " + std::to_string(target) + ", expected numbers below V = " + std::to_string(V));
  }
  const size_t rows = parameters.positions.rows;
  refuse(rows != 0 && of_step.ids.n_rows > rows, "position is " + std::to_string(of_step.ids.n_rows - 1) +
                                                     ", expected below " + std::to_string(rows) +
                                                     ", the rows of position_embedding");
}

/// A thread's share is its share of the first kind, then of the second, and so on.
void Trainer::Parts::share_out(size_t thread, const Tasks& tasks) {
  size_t count = 0;
  for (const Tasks::Kind& kind : tasks.kinds) count += kind.count;
  team.share_out(thread, count, [&](size_t i) {
    for (size_t owner = 0;; ++owner) {
      for (const Tasks::Kind& kind : tasks.kinds) {
        const size_t first = team.first_of(owner, kind.count), own = team.first_of(owner + 1, kind.count) - first;
        if (i < own) return kind.task(owns[thread], first + i);
        i -= own;
      }
    }
  });
}

double Trainer::Parts::run(const std::vector<Batch>& batches, bool backward_too) {
  refuse(batches.empty(), "batches is empty, expected at least one");
  size_t count = 0;
  for (const Batch& each : batches) {
    check(each);
    count += counted(each);
  }
  share = 1 / static_cast<float>(std::max<size_t>(count, 1));
  with_backward = backward_too;
  double sum = 0;
  first_pass = true;
  turn_weights();
  for (const Batch& each : batches) {
    batch = &each;
    const size_t sequences = each.ids.n_cols, rows = each.ids.n_rows;
    if (gated && L != rows) find_angles(rows);
    L = rows;
    const size_t passes = std::min(sequences, divided_up(sequences * L, tokens_per_pass(E)));
    for (size_t pass = 0; pass < passes; ++pass) {
      first_sequence = sequences * pass / passes;
      B = sequences * (pass + 1) / passes - first_sequence;
      prepare();
      team.run([&](size_t thread) {
        forward(thread);
        if (with_backward) backward(thread);
      });
      for (const double loss : losses) sum += loss;
      first_pass = false;
    }
  }
  if (with_backward) add_halves();
  return sum / static_cast<double>(std::max<size_t>(count, 1));
}

Trainer::Trainer(const LanguageModelConfig& config, const std::vector<ParameterView>& parameters, unsigned threads,
                 const Kernels& kernels)
    : parts_(std::make_unique<Parts>(config, threads == 0 ? static_cast<size_t>(max_threads()) : threads, kernels)) {
  parts_->parameters.require_own("parameters", parameters);
  std::vector<const double*> columns;
  for (const ParameterView& view : parameters) columns.push_back(view.values);
  parts_->parameters.read(columns, parts_->parameters.values);
}

Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

double Trainer::loss(const Batch& batch) { return parts_->run({batch}, false); }

double Trainer::gradients(const std::vector<Batch>& batches, const std::vector<ParameterView>& gradients) {
  parts_->parameters.require_own("gradients", gradients);
  const double loss = parts_->run(batches, true);
  parts_->parameters.write(parts_->parameters.gradients, columns_of(gradients));
  return loss;
}

void Trainer::copy_to(const std::vector<ParameterView>& parameters) const {
  parts_->parameters.require_own("parameters", parameters);
  parts_->parameters.write(parts_->parameters.values, columns_of(parameters));
}

arma::uword Trainer::steps() const { return parts_->steps; }

}  // namespace attn::fast
