import RemoteSettingsModel

extension ServerClient {
    /// The longest pause, in seconds, that this package waits for when a server asks. A longer one is an error.
    static var patienceSeconds: Int { 5 }
    /// Milliseconds between two requests to a server that has asked for a `Backoff` during the current run.
    static var gentlePauseMilliseconds: Int { 200 }

    struct StandingHold {
        let until: Timestamp
        let left: Duration
        /// The time left in whole seconds, rounded up.
        var seconds: Int {
            let (seconds, rest) = left.components
            return Int(clamping: seconds) + (rest > 0 ? 1 : 0)
        }
    }

    /// The hold that applies now to a URL's origin.
    func standingHold(on url: HTTPURL) -> StandingHold? {
        let refusals = shared.withLock { $0.refusals }
        // In this common case, the origin's text is not built.
        if holdsAtStart.isEmpty, refusals.isEmpty { return nil }
        let origin = url.origin
        guard let until = [holdsAtStart, refusals].compactMap({ $0.until(origin) }).max() else { return nil }
        let left = until.elapsed(since: environment.now())
        // No hold is ever set further ahead. The clock has been changed since then, so the hold is ignored.
        guard left > .zero, left <= .seconds(Limits.backoffSeconds) else { return nil }
        return StandingHold(until: until, left: left)
    }

    /// Waits for a short hold to end.
    ///
    /// - Throws: ``HTTPError/Reason/backoff(until:seconds:)`` for a longer hold, or if further answers prolong it.
    func waitForHold(on url: HTTPURL) async throws(HTTPError) {
        var waits = 0
        while let hold = standingHold(on: url) {
            guard hold.left <= .seconds(Self.patienceSeconds), waits <= limits.tries else {
                throw HTTPError(url, .backoff(until: hold.until, seconds: hold.seconds))
            }
            waits += 1
            try await sleep(hold.left, of: url.description)
        }
    }

    /// Waits until requests are allowed again to an origin that asked for a `Backoff` in this run.
    func keepPace(with url: HTTPURL) async throws(HTTPError) {
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

    /// Records `Backoff` and `Retry-After` of an answer with any status.
    ///
    /// If the server refuses to work (429, 5xx), both stop the current run. With any other error, `Retry-After` stops
    /// it too. With any other answer, they apply to the next run, and the current one slows down.
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

    /// Reports an `Alert` once.
    func recordAlert(_ answer: Answer) {
        guard let text = answer.response.headers["Alert"].map({ String($0.prefix(4096)) }), !text.isEmpty else {
            return
        }
        let isNew = shared.withLock { $0.alerts.count < 64 && $0.alerts.insert(text).inserted }
        if isNew { onEvent(.alert(text, url: answer.url)) }
    }
}

extension HTTPHeaders {
    /// The time that `Retry-After` asks for, in seconds or as a date; zero if there is no valid value.
    ///
    /// - Parameter longest: the largest number of seconds to return.
    func retryAfter(now: Timestamp, atMost longest: Int) -> Duration {
        guard let text = self["Retry-After"] else { return .zero }
        if let seconds = Self.seconds(text, atMost: longest) { return .seconds(seconds) }
        guard let end = HTTPDate.parse(text, now: now) else { return .zero }
        // If the server sends `Date`, its own clock is used, so that a wrong clock here does not matter.
        let reference = self["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? now
        return max(.zero, min(end.elapsed(since: reference), .seconds(longest)))
    }

    fileprivate static func seconds(_ text: String, atMost longest: Int) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return min(Int(text) ?? longest, longest)
    }
}
