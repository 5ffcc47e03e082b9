// How a figure asks the reference: useAnswer() in its setup. Nothing is loaded before the figure comes into view.
import { getCurrentInstance, onBeforeUnmount, onMounted, ref, shallowRef, watch } from "vue";

const longest = 20_000; // milliseconds

/** A worker with the reference. A mistake may never end: then the worker is given up, and the next question starts another. */
export function openReference() {
  const waiting = new Map();
  let worker;
  let tickets = 0;
  function giveUp(why) {
    worker.terminate();
    worker = undefined;
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer);
      reject(new Error(why));
    }
    waiting.clear();
  }
  function start() {
    worker = new Worker(new URL("./worker.mjs", import.meta.url), { type: "module" });
    worker.onmessage = ({ data: { ticket, begun, answer, error } }) => {
      const one = waiting.get(ticket);
      if (begun) return (one.timer = setTimeout(giveUp, longest, "This did not end within 20 seconds."));
      clearTimeout(one.timer);
      waiting.delete(ticket);
      if (error) one.reject(new Error(error));
      else one.resolve(answer);
    };
    worker.onerror = () => giveUp("The computing part of this page does not start.");
  }
  return {
    ask: (question, request, mistake = "") =>
      new Promise((resolve, reject) => {
        if (!worker) start();
        waiting.set(++tickets, { resolve, reject });
        worker.postMessage({ ticket: tickets, question, request: JSON.stringify(request), mistake });
      }),
    count: () => waiting.size,
    close() {
      worker?.terminate();
      for (const { timer } of waiting.values()) clearTimeout(timer);
    },
  };
}

let shared;
export const ask = (...all) => (shared ??= openReference()).ask(...all);

/** Calls `then` once, when the figure comes into view. */
export function whenInView(then) {
  const instance = getCurrentInstance();
  let observer;
  onMounted(() => {
    observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      Object.assign(instance.proxy.$el, { ask, waits: () => shared?.count() > 0 }); // for tests
      then();
    }, { rootMargin: "0px" });
    observer.observe(instance.proxy.$el);
  });
  onBeforeUnmount(() => observer?.disconnect());
}

/**
 * The answer to a question whose request changes as the reader moves things. While one is computed, only the newest of
 * those after it is kept. `problem` has the sentence of an error.
 * @param request, mistake  functions without parameters, of reactive values
 */
export function useAnswer(question, request, mistake = () => "") {
  const answer = shallowRef();
  const problem = ref("");
  let busy = false;
  let stale = false;
  async function run() {
    stale = busy;
    if (busy) return;
    busy = true;
    try {
      answer.value = await ask(question, request(), mistake());
      problem.value = "";
    } catch (error) {
      answer.value = undefined;
      problem.value = error.message;
    }
    busy = false;
    if (stale) run();
  }
  whenInView(() => watch([request, mistake], run, { immediate: true, deep: true }));
  return { answer, problem };
}
