import { siteConfiguration } from "../configuration.ts";

export default siteConfiguration();
