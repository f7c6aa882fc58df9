//! What the surrounding host can do, as data: nothing below the edge asks which host it is.

/// The abilities and duties of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact about a host, not a state")]
pub struct HostTraits {
    /// The host has checked the function key or master key before the request arrives here.
    pub checks_keys: bool,
    /// The host names each request in `x-azure-functions-invocationid`, in place of a client's own value or after it.
    pub sets_invocation_id: bool,
    /// The public host name arrives in `X-Forwarded-Host`, set by the host and not by the client.
    pub forwards_host: bool,
    /// The `Host` of a request is worth checking (DNS rebinding); off where the platform routes by host name.
    pub checks_authority: bool,
    /// The platform authenticates callers itself and puts who they are into `x-ms-client-principal`, taking a client's own
    /// value away; and the app says that it is to be believed.
    pub vouches_for_principals: bool,
    /// The process was started by a developer's tools, where keys are not enforced.
    pub development: bool,
}
