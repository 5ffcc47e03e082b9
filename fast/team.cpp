#include "team.hpp"

namespace attn::fast {

namespace {

// How often a thread looks before it lets others run (about 50 microseconds), and before it sleeps.
constexpr int looks_for_others = 1 << 10, looks_for_work = 1 << 14;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Waits until done() for a short time; false when that was not enough.
template <class Condition>
bool spin_until(Condition done, int looks) {
  for (int i = 0; i < looks; ++i) {
    if (done()) return true;
    pause();
  }
  return false;
}

}  // namespace

Team::Team(std::size_t threads) : shares_(threads) {
  for (std::size_t t = 1; t < threads; ++t) threads_.emplace_back([this, t] { live(t); });
}

Team::~Team() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  called_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(const std::function<void(std::size_t)>& work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = &work;
    ++calls_;
  }
  called_.notify_all();
  work(0);
  wait_for_all();
}

void Team::wait_for_all() {
  const std::size_t meeting = meetings_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    arrived_.store(0, std::memory_order_relaxed);
    for (Share& share : shares_) share.begun.store(0, std::memory_order_relaxed);
    meetings_.store(meeting + 1, std::memory_order_release);
    return;
  }
  const auto met = [&] { return meetings_.load(std::memory_order_acquire) != meeting; };
  while (!spin_until(met, looks_for_others))
    std::this_thread::yield();  // another program may have the other thread's processor
}

void Team::live(std::size_t number) {
  for (std::size_t seen = 0;; ++seen) {
    const auto called = [&] { return calls_.load(std::memory_order_acquire) != seen || ended_; };
    if (!spin_until(called, looks_for_work)) {
      std::unique_lock<std::mutex> lock(mutex_);
      called_.wait(lock, called);
    }
    if (ended_) return;
    (*work_)(number);
    wait_for_all();
  }
}

}  // namespace attn::fast
