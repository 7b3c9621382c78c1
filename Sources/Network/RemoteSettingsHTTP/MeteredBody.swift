import RemoteSettingsModel

/// The ``HTTPEnvironment/uptime`` by which work must be finished, and the time limit that it results from.
struct Deadline {
    let end: Duration
    let phase: Failure.TimeoutPhase
    let seconds: Int

    init(_ phase: Failure.TimeoutPhase, seconds: Int, from start: Duration) {
        end = start + .seconds(seconds)
        self.phase = phase
        self.seconds = seconds
    }

    /// Throws an error if the deadline has passed.
    ///
    /// - Throws: ``Failure/timeout(_:seconds:)``.
    func check(_ uptime: Duration, of url: HTTPURL) throws(Failure) {
        if uptime >= end { throw Failure(url, .timeout(phase, seconds: seconds)) }
    }
}

/// A body received by the transport, with limits on its size, its throughput and its total time.
///
/// Compressed bodies are measured before decompression, because a gzip stream can continue forever without producing a
/// byte.
struct MeteredBody: HTTPBody {
    private var wire: any HTTPBody
    private let request: HTTPRequest
    private let deadline: Deadline
    private let limits: Limits
    private let uptime: @Sendable () -> Duration
    /// The number of bytes that may still arrive.
    private var left: Int
    /// The time spent waiting since the throughput was last checked. The bytes received in that time are counted too.
    private var waited: Duration = .zero
    private var received = 0

    init(
        _ wire: any HTTPBody, of request: HTTPRequest, until deadline: Deadline, limits: Limits,
        uptime: @escaping @Sendable () -> Duration
    ) {
        self.wire = wire
        self.request = request
        self.deadline = deadline
        self.limits = limits
        self.uptime = uptime
        left = request.wireLimit
    }

    mutating func next() async throws(Failure) -> [UInt8]? {
        let start = uptime()
        try deadline.check(start, of: request.url)
        guard let piece = try await wire.next() else { return nil }
        let end = uptime()
        guard piece.count <= left else { throw Failure(request.url, .tooLargeOnTheWire(limit: request.wireLimit)) }
        left -= piece.count
        try deadline.check(end, of: request.url)
        waited += end - start
        received += piece.count
        if waited >= .seconds(limits.throughputSeconds) {
            guard Double(received) >= Double(limits.leastBytesPerSecond) * (waited / .seconds(1)) else {
                throw Failure(
                    request.url,
                    .tooSlow(leastBytesPerSecond: limits.leastBytesPerSecond, seconds: limits.throughputSeconds))
            }
            waited = .zero
            received = 0
        }
        return piece
    }
}
