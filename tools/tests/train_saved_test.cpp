// Trainings that are kept in files: gone on with bit for bit, refused when they are damaged, and never lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <armadillo>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "attn/memory_map.hpp"
#include "folder_names.hpp"
#include "lesson/lesson.hpp"
#include "saved_training.hpp"
#include "scratch.hpp"
#include "trainer.hpp"
#include "training_folder.hpp"

namespace attn::training {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

Recipe task_recipe(arma::uword steps) {
  learn::TrainOptions options;
  options.steps = steps;
  Recipe recipe = recipe_of(options);
  recipe.batch = 2;
  recipe.width = 4;
  return recipe;
}

Recipe text_recipe(arma::uword steps) {
  learn::TrainOptions options;
  options.text = "text";
  options.width = 8;
  options.heads = 2;
  options.layers = 1;
  options.context = 4;
  options.batch = 2;
  options.steps = steps;
  Recipe recipe = recipe_of(options);
  recipe.vocab_size = 9;
  return recipe;
}

const std::vector<arma::uword> text = {1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 3, 5, 7, 2, 4, 6, 8, 1, 2, 3};

void make_steps(Training& training, arma::uword count) {
  const TrainingConfig config = training_config_of(training.recipe);
  for (arma::uword i = 0; i < count; ++i) {
    const Batch batch = training.recipe.is_text()
                            ? next_token_batch(text, training.recipe.context, training.recipe.batch, training.examples)
                            : task_named(training.recipe.task).draw(training.recipe.batch, training.examples);
    training.losses.push_back(train_step(training.model, training.state, {batch}, config).loss);
  }
}

std::string trained_for(const Recipe& recipe, arma::uword steps) {
  Training training = new_run(recipe);
  make_steps(training, steps);
  return saved_training(training);
}

std::string reason(const std::string& file) {
  try {
    read_training(file);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string bytes, const std::string& old, const std::string& by) {
  const auto at = bytes.find(old);
  if (at == std::string::npos || old.size() != by.size()) throw std::logic_error("not there: " + old);
  return bytes.replace(at, old.size(), by);
}

// ------------------------------------------------------------------------------------------------- going on

TEST(SavedTraining, IsReadAsItWas) {
  for (const Recipe& recipe : {task_recipe(9), text_recipe(9)}) {
    for (const arma::uword steps : {0U, 1U, 3U}) {
      const std::string saved = trained_for(recipe, steps);
      Training training = read_training(saved);
      EXPECT_EQ(training.losses.size(), steps);
      EXPECT_EQ(training.state.t, steps);
      EXPECT_EQ(saved_training(training), saved);
      EXPECT_EQ(read_progress(saved).steps, steps);
    }
  }
}

TEST(SavedTraining, GoesOnBitForBitAfterEachStep) {
  for (const Recipe& recipe : {task_recipe(8), text_recipe(8)}) {
    const std::string whole = trained_for(recipe, 8);
    for (arma::uword stopped = 0; stopped <= 8; ++stopped) {
      Training training = read_training(trained_for(recipe, stopped));
      make_steps(training, 8 - stopped);
      EXPECT_TRUE(saved_training(training) == whole) << recipe.task << ", stopped after step " << stopped;
    }
  }
}

// ------------------------------------------------------------------------------------------------- damage

/// Refused; or nothing was damaged that says anything: a blank after the header.
void expect_refused_or_same(const std::string& damaged, const std::string& saved, const std::string& how) {
  try {
    Training training = read_training(damaged);
    EXPECT_TRUE(saved_training(training) == saved) << how << ": it is read as another training";
  } catch (const std::invalid_argument& error) {
    EXPECT_STRNE(error.what(), "") << how;
  }
}

TEST(DamagedTraining, IsRefusedWhereverABitIsFlipped) {
  const std::string saved = trained_for(text_recipe(9), 2);
  const auto header = static_cast<unsigned char>(saved[0]) + 256u * static_cast<unsigned char>(saved[1]) + 8;
  std::mt19937_64 generator(1);
  for (std::size_t trial = 0; trial < 600; ++trial) {
    std::string damaged = saved;
    const std::size_t at = trial < 64 ? trial / 8 : generator() % (trial < 350 ? header : saved.size());
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << (trial < 64 ? trial % 8 : generator() % 8));
    expect_refused_or_same(damaged, saved, "a bit of byte " + std::to_string(at));
  }
}

TEST(DamagedTraining, IsRefusedWhereverItIsCut) {
  const std::string saved = trained_for(text_recipe(9), 2);
  std::mt19937_64 generator(1);
  for (std::size_t cut = 0; cut < saved.size(); cut += cut < 40 ? 1 : 1 + generator() % (saved.size() / 300)) {
    EXPECT_NE(reason(saved.substr(0, cut)), "") << "cut at " << cut;
  }
  EXPECT_NE(reason(saved + "x"), "");
  EXPECT_NE(reason(saved + saved), "");
}

TEST(DamagedTraining, IsRefusedWhenItIsSomethingElse) {
  EXPECT_NE(reason(""), "");
  EXPECT_NE(reason("hello"), "");
  EXPECT_NE(reason(std::string(1000, '\xff')), "");
  const fs::path other = fs::path(ATTN_ROOT) / "models" / "small" / "model.safetensors";
  EXPECT_THAT(reason(std::string(MemoryMap(other).bytes())), HasSubstr("no saved training"));
}

TEST(DamagedTraining, IsRefusedForWhatItSays) {
  const std::string saved = trained_for(text_recipe(9), 2);
  EXPECT_THAT(reason(replaced(saved, R"("version":"1")", R"("version":"2")")),
              AllOf(HasSubstr("version is 2"), HasSubstr("reads version 1")));
  EXPECT_THAT(reason(replaced(saved, "training of", "training-of")), HasSubstr("format"));
  EXPECT_THAT(reason(replaced(saved, R"(\"seed\":1)", R"(\"seed\":2)")), HasSubstr("checksum"));
  std::string changed = saved;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_THAT(reason(changed), HasSubstr("checksum"));
}

/// With a checksum that fits: somebody's program wrote them so.
TEST(WrongTraining, IsRefused) {
  const auto reason_of = [](const auto& change) {
    Training training = new_run(text_recipe(9));
    make_steps(training, 2);
    change(training);
    return reason(saved_training(training));
  };
  const double nan = arma::datum::nan, inf = arma::datum::inf;
  EXPECT_EQ(reason_of([](Training&) {}), "");
  EXPECT_THAT(reason_of([&](Training& training) { training.model.token_embedding.weight(3, 2) = nan; }),
              AllOf(HasSubstr("model.token_embedding"), HasSubstr("not finite")));
  EXPECT_THAT(reason_of([&](Training& training) { training.state.v.back()(1) = inf; }), HasSubstr("v.final_norm"));
  EXPECT_THAT(reason_of([&](Training& training) { training.losses[0] = nan; }), HasSubstr("losses"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.vocab_size = 8; }),
              HasSubstr("model.token_embedding is not a list of 64"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.layers = 2; }),
              HasSubstr("blocks.1.attention_norm.weight is missing"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.architecture = "gpt2"; }), HasSubstr("is"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.architecture = "lstm"; }), HasSubstr("lstm"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.width = 4096; }), HasSubstr("too small"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.width = 100'000'000; }), HasSubstr("width"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.heads = 3; }), HasSubstr("num_heads"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.task = "add"; }), HasSubstr("add"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.steps = 1; }), HasSubstr("more losses"));
  EXPECT_THAT(reason_of([](Training& training) { training.recipe.rate = -1; }), HasSubstr("learning rate"));
}

// ------------------------------------------------------------------------------------------------- the folder

std::string refusal(const fs::path& folder) {
  try {
    TrainingFolder::for_new(folder);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(TrainingFolder, IsNotTakenFromAnotherTraining) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "a" / "b";
  EXPECT_EQ(refusal(folder), "");
  EXPECT_TRUE(fs::is_directory(folder));
  const auto with = [&](const std::string& bytes) {
    put(folder / "training.safetensors", bytes);
    const std::string why = refusal(folder);
    EXPECT_EQ(lesson::read_file(folder / "training.safetensors"), bytes);
    return why;
  };
  EXPECT_EQ(with(trained_for(task_recipe(2), 2)), "") << "a finished task";
  EXPECT_EQ(with(trained_for(text_recipe(2), 0)), "") << "nothing was done yet";
  EXPECT_THAT(with(trained_for(task_recipe(2), 1)), AllOf(HasSubstr("not finished, 1 of 2"), HasSubstr("--resume")));
  EXPECT_THAT(with(trained_for(text_recipe(2), 1)), HasSubstr("not finished"));
  EXPECT_THAT(with(trained_for(text_recipe(2), 2)), AllOf(HasSubstr("was trained on"), HasSubstr("--save")));
  EXPECT_THAT(with("something else"), HasSubstr("left as it is"));
  fs::remove(folder / "training.safetensors");
  put(folder / "training.safetensors.new-123", "half");
  EXPECT_EQ(refusal(folder), "") << "left by a program that was killed";
  put(folder / "config.json", "{}");
  EXPECT_THAT(refusal(folder), HasSubstr("other files, such as config.json"));
  put(scratch.path() / "file", "");
  EXPECT_THAT(refusal(scratch.path() / "file"), HasSubstr("cannot be made"));
}

TEST(TrainingFolder, IsForOneProgramAtATime) {
  const Scratch scratch;
  {
    const TrainingFolder first = TrainingFolder::for_new(scratch.path());
    EXPECT_THAT(refusal(scratch.path()), HasSubstr("another program"));
  }
  EXPECT_EQ(refusal(scratch.path()), "");
}

TEST(TrainingFolder, GoesOnOnlyWithWhatIsNotFinished) {
  const Scratch scratch;
  const auto reason_of = [&] {
    try {
      TrainingFolder::for_resumed(scratch.path()).read();
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(reason_of(), HasSubstr("has no training.safetensors"));
  put(scratch.path() / "training.safetensors", trained_for(text_recipe(2), 1));
  EXPECT_EQ(reason_of(), "");
  put(scratch.path() / "training.safetensors", trained_for(text_recipe(2), 2));
  EXPECT_THAT(reason_of(), AllOf(HasSubstr("finished, after 2 steps"), HasSubstr("./learn generate --model")));
  put(scratch.path() / "training.safetensors", "{}");
  EXPECT_THAT(reason_of(), HasSubstr("training.safetensors: file has 2 bytes"));
}

TEST(TrainingFolder, IsNamedAfterItsTextOrTask) {
  const auto name_of = [](const std::string& path) {
    Recipe recipe = text_recipe(1);
    recipe.text = path;
    return usual_folder(recipe).string();
  };
  EXPECT_EQ(usual_folder(task_recipe(1)), "models/trained/reverse");
  EXPECT_EQ(name_of("/a/pride.txt"), "models/trained/pride");
  EXPECT_EQ(name_of("/a/my 'own' text.utf8.txt"), "models/trained/my--own--text.utf8");
  EXPECT_EQ(name_of("/a/紅樓夢.txt"), "models/trained/紅樓夢");
  EXPECT_EQ(name_of("/a/copy.txt"), "models/trained/copy-text");
  EXPECT_EQ(name_of("/a/.txt"), "models/trained/text.txt");
}

TEST(TrainingFolder, KeepsTheOldFileWhenTheDiskIsFull) {
  const Scratch scratch;
  const TrainingFolder folder = TrainingFolder::for_new(scratch.path());
  Training training = new_run(text_recipe(9));
  make_steps(training, 1);
  folder.write(training, nullptr);
  const std::string before = lesson::read_file(scratch.path() / "training.safetensors");
  const pid_t child = start_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};  // bytes per file
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    make_steps(training, 1);
    try {
      folder.write(training, nullptr);
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).find("training.safetensors") != std::string::npos;
    }
    return false;
  });
  EXPECT_TRUE(ended_well(child)) << "it names the file that could not be written";
  EXPECT_EQ(lesson::read_file(scratch.path() / "training.safetensors"), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << "and leaves nothing beside it";
}

/// A program that saves after each step is killed 200 times, mostly while it saves. Each time the file is whole, and
/// what goes on with it arrives where it would have been without.
TEST(TrainingFolder, SurvivesKills) {
  const Scratch scratch;
  const Recipe recipe = text_recipe(1'000'000);
  std::mt19937_64 generator(1);
  Training whole = new_run(recipe);
  const auto begun = std::chrono::steady_clock::now();
  make_steps(whole, 1);
  TrainingFolder::for_new(scratch.path()).write(whole, nullptr);
  const auto longest =
      3 * std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun).count();
  for (int kill_number = 0; kill_number < 200; ++kill_number) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = start_child([&] {
      const TrainingFolder folder = TrainingFolder::for_resumed(scratch.path());
      Training training = folder.read();
      if (write(ready[1], "x", 1) != 1) return false;
      while (true) {
        make_steps(training, 1);
        folder.write(training, nullptr);
      }
    });
    close(ready[1]);  // so that a child that ends is noticed
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    std::this_thread::sleep_for(std::chrono::microseconds(generator() % static_cast<std::uint64_t>(longest)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended before it was killed";
    close(ready[0]);
    Training training = TrainingFolder::for_resumed(scratch.path()).read();
    ASSERT_GE(training.losses.size(), whole.losses.size());
    make_steps(whole, training.losses.size() - whole.losses.size());
    ASSERT_TRUE(saved_training(training) == saved_training(whole)) << "after kill " << kill_number;
  }
  EXPECT_GT(whole.losses.size(), 50u) << "there was something to save";
}

}  // namespace
}  // namespace attn::training
