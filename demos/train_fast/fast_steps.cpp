#include "fast_steps.hpp"

#include "../../fast/trainer.hpp"  // demos/train has a trainer.hpp, too

namespace attn::training {

namespace {

class FastSteps : public Steps {
 public:
  explicit FastSteps(Training& training) : trainer_(training.model.config(), parameters_of(training.model)) {
    trainer_.restore(training.state);
  }

  StepReport make(Training&, const Batch& batch, const TrainingConfig& config) override {
    return trainer_.step({batch}, config);
  }

  void put_into(Training& training) override {
    trainer_.copy_to(parameters_of(training.model));
    training.state = trainer_.state();
    training.model.reset();
  }

 private:
  fast::Trainer trainer_;
};

}  // namespace

std::unique_ptr<Steps> fast_steps(Training& training) { return std::make_unique<FastSteps>(training); }

}  // namespace attn::training
