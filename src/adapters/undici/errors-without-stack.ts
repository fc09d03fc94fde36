import errors from "undici/lib/core/errors.js";

/**
 * At the end of each answer on a connection that is not kept, undici makes an `InformationalError` that nobody sees. Its
 * stack would take more time than closing the socket. This module comes before undici's client, which takes its errors
 * from here when it is loaded.
 */
errors.InformationalError = class extends errors.InformationalError {
  constructor(message?: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    // Nothing else runs until it is set back: no other error goes without.
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
};
