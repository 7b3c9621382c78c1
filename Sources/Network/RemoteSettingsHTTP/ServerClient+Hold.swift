import RemoteSettingsModel

extension ServerClient {
    /// The longest backoff, in seconds, that the client waits for. A longer one is an error.
    static var patienceSeconds: Int { 5 }
    /// The pause in milliseconds between two requests to a server that sent `Backoff` during the current run.
    static var gentlePauseMilliseconds: Int { 200 }

    struct StandingHold {
        let until: Timestamp
        let left: Duration
        /// The remaining time in whole seconds, rounded up.
        var seconds: Int {
            let (seconds, rest) = left.components
            return Int(clamping: seconds) + (rest > 0 ? 1 : 0)
        }
    }

    /// Returns the backoff that is in effect now for a URL's origin; `nil` if there is none.
    func standingHold(on url: HTTPURL) -> StandingHold? {
        let refusals = shared.withLock { $0.refusals }
        // In this common case, avoid building the origin's string.
        if holdsAtStart.isEmpty, refusals.isEmpty { return nil }
        let origin = url.origin
        guard let until = [holdsAtStart, refusals].compactMap({ $0.until(origin) }).max() else { return nil }
        let left = until.elapsed(since: environment.now())
        // A backoff is never stored for longer than this, so the clock must have been set back since. Ignore it.
        guard left > .zero, left <= .seconds(Limits.backoffSeconds) else { return nil }
        return StandingHold(until: until, left: left)
    }

    /// Waits until a short backoff expires.
    ///
    /// - Throws: ``Failure/backoff(until:seconds:)`` for a longer backoff, or if further responses extend it.
    func waitForHold(on url: HTTPURL) async throws(Failure) {
        var waits = 0
        while let hold = standingHold(on: url) {
            guard hold.left <= .seconds(Self.patienceSeconds), waits <= limits.tries else {
                throw Failure(url, .backoff(until: hold.until, seconds: hold.seconds))
            }
            waits += 1
            try await sleep(hold.left, of: url.description)
        }
    }

    /// Waits until the next request is allowed to an origin that sent `Backoff` in this run.
    func keepPace(with url: HTTPURL) async throws(Failure) {
        let now = environment.uptime()
        let pause = Duration.milliseconds(Self.gentlePauseMilliseconds)
        let wait = pace.withLock { next -> Duration in
            guard !next.isEmpty else { return .zero }
            let origin = url.origin
            guard let earliest = next[origin] else { return .zero }
            let start = max(earliest, now)
            next[origin] = start + pause
            return start - now
        }
        if wait > .zero { try await sleep(wait, of: url.description) }
    }

    /// Records the headers `Backoff` and `Retry-After` of a response with any status.
    ///
    /// If the server refuses the request (429 or 5xx), both headers stop the current run. With any other error status,
    /// only `Retry-After` stops it. With a status below 400, they apply to the next run, and the current one slows
    /// down.
    func recordHold(_ answer: Answer) {
        let headers = answer.response.headers
        let now = environment.now()
        let longest = Limits.backoffSeconds
        let status = answer.response.status
        let isRefusal = status == 429 || (500...599).contains(status)
        var wait: Duration = .zero
        if let seconds = headers["Backoff"].flatMap({ HTTPHeaders.seconds($0, atMost: longest) }) {
            wait = .seconds(seconds)
        }
        let retry = headers.retryAfter(now: now, atMost: longest)
        let stop = isRefusal ? max(wait, retry) : status >= 400 ? retry : .zero
        wait = max(wait, retry)
        guard wait > .zero else { return }
        let hold = BackoffState.Hold(origin: answer.url.origin, until: now.advanced(by: wait))
        shared.withLock {
            $0.backoff.extend(hold.origin, until: hold.until)
            if stop > .zero { $0.refusals.extend(hold.origin, until: now.advanced(by: stop)) }
        }
        if stop == .zero {
            let next = environment.uptime() + .milliseconds(Self.gentlePauseMilliseconds)
            pace.withLock { $0[hold.origin] = $0[hold.origin] ?? next }
        }
        onEvent(.hold(hold))
    }

    /// Reports an `Alert` header, unless the same text was already reported.
    func recordAlert(_ answer: Answer) {
        guard let text = answer.response.headers["Alert"].map({ String($0.prefix(4096)) }), !text.isEmpty else {
            return
        }
        let isNew = shared.withLock { $0.alerts.count < 64 && $0.alerts.insert(text).inserted }
        if isNew { onEvent(.alert(text, url: answer.url)) }
    }
}

extension HTTPHeaders {
    /// Returns the wait that `Retry-After` requests, in seconds or as a date; zero if there is no valid value.
    ///
    /// - Parameter longest: the largest number of seconds to return.
    func retryAfter(now: Timestamp, atMost longest: Int) -> Duration {
        guard let text = self["Retry-After"] else { return .zero }
        if let seconds = Self.seconds(text, atMost: longest) { return .seconds(seconds) }
        guard let end = HTTPDate.parse(text, now: now) else { return .zero }
        // Compare with the server's `Date` if there is one, so that a wrong local clock does not matter.
        let reference = self["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? now
        return max(.zero, min(end.elapsed(since: reference), .seconds(longest)))
    }

    fileprivate static func seconds(_ text: String, atMost longest: Int) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return min(Int(text) ?? longest, longest)
    }
}
