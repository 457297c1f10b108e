import { parentPort, workerData } from "node:worker_threads";
import { simulatePromotion, type PromotionInput } from "./simulate-promotion.ts";

// Untyped by Node; the only thread that starts this file is that of `promotion-simulator.ts`, which
// also ends it.
const input: PromotionInput = workerData;

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(await simulatePromotion(input, new AbortController().signal));
