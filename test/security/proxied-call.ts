import { connectionPools } from "../../src/dispatch/connections.ts";
import { provider, table } from "../support/table.ts";

/**
 * One call to the given address, as the router makes it; says the status. For a process with a
 * proxy in its environment.
 */
const [url = ""] = process.argv.slice(2);
const pools = connectionPools();
const { connections } = pools.acquire(
  table({ providers: [provider("p", { baseUrl: url })] }),
  () => ({
    secret: null,
    simulatedOrigin: null,
  }),
);
const answer = await connections
  .get("p")
  ?.dispatcher.request({ path: "/x", method: "POST", body: "{}" });
await answer?.body.dump();
process.stdout.write(String(answer?.statusCode));
await pools.destroy();
