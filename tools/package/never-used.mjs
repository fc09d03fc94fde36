// In what is shipped, this is node:http2, from which undici reads a list of names, though HTTP/1.1 is all that is spoken; and
// OpenTelemetry, which the Prometheus client asks for exemplars alone.
export const constants = {};
