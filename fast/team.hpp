#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace attn::fast {

/// Threads that live on from one token to the next, and wait for each other without a system call: a layer of a small
/// model takes less time than waking a thread.
class Team {
 public:
  /// @param threads the calling one among them; at least 1
  explicit Team(std::size_t threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const { return threads_.size() + 1; }

  /// Calls work(t) in every thread at the same time, t = 0 to size() - 1, and returns when all are done. It must not
  /// throw.
  void run(const std::function<void(std::size_t)>& work);

  /// Called within work by all threads: returns when all have called it, with all that they wrote.
  void wait_for_all();

  /// Called within work by all threads: task(i) for i = 0 to count - 1. Returns when all are done.
  ///
  /// Each thread begins with its own share of the tasks, in order: what it wrote for them before is still in its caches.
  /// Then it helps the others.
  ///
  /// @param thread the caller's number, as work got it
  template <class Task>
  void share_out(std::size_t thread, std::size_t count, Task task) {
    for (std::size_t k = 0; k < size(); ++k) {
      const std::size_t owner = (thread + k) % size(), first = first_of(owner, count), end = first_of(owner + 1, count);
      std::atomic<std::size_t>& begun = shares_[owner].begun;
      for (std::size_t i = first + begun++; i < end; i = first + begun++) task(i);
    }
    wait_for_all();
  }

  /// The first task of a thread's share: shares are equal, up to one task.
  std::size_t first_of(std::size_t thread, std::size_t count) const { return count * thread / size(); }

 private:
  void live(std::size_t number);

  // Each in a cache line of its own: those who look at one are not disturbed by what is written to another.
  struct alignas(64) Share {
    std::atomic<std::size_t> begun{0};  // tasks; 0 again when all have met
  };
  alignas(64) std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<std::size_t> meetings_{0};
  alignas(64) std::atomic<std::size_t> calls_{0};  // of run(); written under the mutex, so that no sleeper misses it
  std::atomic<bool> ended_{false};
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::mutex mutex_;
  std::condition_variable called_;
  std::vector<Share> shares_;  // of share_out(), one for each thread
  std::vector<std::thread> threads_;
};

}  // namespace attn::fast
