import RemoteSettingsHTTP

#if canImport(Darwin)
    import URLSessionTransport
#else
    import CurlTransport
#endif

/// The platform's own way to the network, where the configuration names none.
enum DefaultTransport {
    static func make() -> any HTTPTransport {
        #if canImport(Darwin)
            URLSessionTransport()
        #else
            CurlTransport()
        #endif
    }
}
