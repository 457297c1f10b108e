import { render } from "preact";
import { App } from "./app.tsx";
import { followAddress } from "./router.ts";

const place = document.getElementById("console");
if (place === null) throw new Error("console: the page has no element for it");
followAddress();
render(<App />, place);
