// How a figure asks the reference: useAnswer() in its setup. Nothing is loaded before the figure comes into view.
import { getCurrentInstance, onBeforeUnmount, onMounted, ref, shallowRef, watch } from "vue";

/** A worker with the reference. */
export function openReference() {
  const worker = new Worker(new URL("./worker.mjs", import.meta.url), { type: "module" });
  const waiting = new Map();
  let tickets = 0;
  worker.onmessage = ({ data: { ticket, answer, error } }) => {
    const { resolve, reject } = waiting.get(ticket);
    waiting.delete(ticket);
    if (error) reject(new Error(error));
    else resolve(answer);
  };
  worker.onerror = () => {
    for (const { reject } of waiting.values()) reject(new Error("The computing part of this page does not start."));
    waiting.clear();
  };
  return {
    ask: (question, request, mistake = "") =>
      new Promise((resolve, reject) => {
        waiting.set(++tickets, { resolve, reject });
        worker.postMessage({ ticket: tickets, question, request: JSON.stringify(request), mistake });
      }),
    count: () => waiting.size,
    close: () => worker.terminate(),
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
      problem.value = error.message;
    }
    busy = false;
    if (stale) run();
  }
  whenInView(() => watch([request, mistake], run, { immediate: true, deep: true }));
  return { answer, problem };
}
