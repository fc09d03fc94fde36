export { default as Client } from "undici/lib/dispatcher/client.js";
