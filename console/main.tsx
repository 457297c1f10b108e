import { render } from "preact";
import { App } from "./app.tsx";
import { followAddress } from "./router.ts";

const container = document.getElementById("console");
if (container === null) throw new Error("console: the page has no element for it");
followAddress();
render(<App />, container);
