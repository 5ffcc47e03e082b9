// Lesson 27: the training of ./learn train, some steps at a time.
#include "train/training.hpp"

#include <memory>
#include <optional>

#include "questions.hpp"
#include "shared/model_view.hpp"

namespace attn::moving {

namespace {

std::optional<training::Training> under_way;  // NOLINT: between two questions; a worker has one

/// What the model does now with a sequence that is not among the examples.
Json shown(training::Training& run) {
  const training::Task& task = training::task_named(run.recipe.task);
  std::mt19937_64 generator = training::held_out_generator(run.recipe);
  const Batch many = task.draw(training::batch_size, generator);
  const arma::uvec ids = many.ids.col(0), targets = many.targets.col(0);  // (L)
  const arma::mat sources = training::sources_of(task, ids, targets);     // (L x L), where the answers are
  const HeadOfLayer best = best_head(run.model, {ids.begin(), ids.end()},
                                     [&](const arma::mat& weights) { return arma::accu(weights % sources); });
  run.model.reset();
  const arma::uvec likeliest = arma::index_max(run.model.extend(ids).slice(0), 1);  // (L)
  run.model.reset();
  Json tokens = Json::array(), expected = Json::array(), written = Json::array();
  for (arma::uword i = 0; i < ids.n_elem; ++i) {
    const bool counts = targets(i) != ignored_target;
    tokens.push_back(training::text_of(ids(i)));
    expected.push_back(counts ? Json(training::text_of(targets(i))) : Json());
    written.push_back(counts ? Json(training::text_of(likeliest(i))) : Json());
  }
  return {{"tokens", tokens},
          {"expected", expected},
          {"written", written},
          {"layer", best.layer},
          {"head", best.head},
          {"weights", json_of(arma::mat(best.weights.slice(best.head)))},
          {"sources", json_of(sources)},
          {"accuracy", training::accuracy_of(run.model, many)}};
}

}  // namespace

/// {"task": "reverse", "seed": 1} -> how many steps it takes; the parameters of the new model; and what it does
Json train_begin(const Json& request) {
  training::TrainOptions options;
  options.task = request.at("task").get<std::string>();
  options.seed = request.at("seed").get<std::uint64_t>();
  under_way = training::new_run(training::recipe_of(options));
  arma::uword parameters = 0;
  for (const ParameterView& parameter : parameters_of(under_way->model)) parameters += parameter.vector().n_elem;
  return {{"steps", under_way->recipe.steps}, {"parameters", parameters}, {"shown", shown(*under_way)}};
}

/// {"count": n} -> the losses of the next n steps, or fewer at the end; and what the model does then
Json train_steps(const Json& request) {
  if (!under_way) throw std::invalid_argument("no training has begun");
  const TrainingConfig config = training::training_config_of(under_way->recipe);
  const training::Task& task = training::task_named(under_way->recipe.task);
  const std::unique_ptr<training::Steps> steps = training::make_steps(*under_way);
  Json losses = Json::array();
  for (int n = request.at("count").get<int>(); n > 0 && !under_way->is_finished(); --n) {
    const Batch batch = task.draw(training::batch_size, under_way->examples);
    under_way->losses.push_back(steps->make(*under_way, batch, config).loss);
    losses.push_back(json_of(under_way->losses.back()));
  }
  return {{"losses", losses}, {"finished", under_way->is_finished()}, {"shown", shown(*under_way)}};
}

}  // namespace attn::moving
