import { DEFAULT_HEALTH, DEFAULT_PROBE_INTERVAL } from "../normalised/defaults.ts";
import { object, range, ref, text } from "./schema.ts";

/** `health` of a provider row. */
export const health = object(
  "When an endpoint is left out for a while because its calls fail. Counted for each endpoint by itself; when the time is over, one request tries it.",
  {
    consecutive_failures: {
      ...range("integer", 0, 10_000),
      default: DEFAULT_HEALTH.consecutive_failures,
      description: "Consecutive failures that take an endpoint out of service. 0: consecutive failures never do.",
    },
    failure_ratio: {
      ...range("number", 0, 1),
      default: DEFAULT_HEALTH.failure_ratio,
      description:
        "Share of failed calls within `window` that takes an endpoint out of service. 0: the share never does.",
    },
    minimum_calls: {
      ...range("integer", 1, 1_000_000),
      default: DEFAULT_HEALTH.minimum_calls,
      description: "Calls that `window` must have before `failure_ratio` applies.",
    },
    window: ref("duration", "How far back `failure_ratio` looks.", { default: DEFAULT_HEALTH.window }),
    ejection: ref("duration", "How long an endpoint is left out the first time; doubled each time in a row.", {
      default: DEFAULT_HEALTH.ejection,
    }),
    longest_ejection: ref("duration", "Upper bound of the doubling. It bounds a provider's Retry-After too.", {
      default: DEFAULT_HEALTH.longest_ejection,
    }),
    probe: object(
      "A request that checks whether the provider answers. Made only while an endpoint is out of service. Without it, the next request tries the endpoint.",
      {
        path: {
          ...text("^/(?!/)[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,254}$", "a path that begins with one `/`, without a query"),
          description: "Path after the base URL, such as `/models`.",
        },
        interval: ref("duration", "Between two probes.", { default: DEFAULT_PROBE_INTERVAL }),
      },
      ["path"],
    ),
  },
);
