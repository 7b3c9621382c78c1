import RemoteSettingsModel

extension ServerClient {
    struct StandingHold {
        let until: Timestamp
        let left: Duration
        /// `left` in whole seconds, rounded up.
        var seconds: Int {
            let (seconds, rest) = left.components
            return Int(clamping: seconds) + (rest > 0 ? 1 : 0)
        }
    }

    /// The hold on a URL's origin that is in force.
    func standingHold(on url: HTTPURL) -> StandingHold? {
        guard let until = state.withLock({ $0.backoff.until(url.origin) }) else { return nil }
        let left = until.elapsed(since: environment.now())
        // No hold is ever set further ahead: the clock has been changed since, and the hold means nothing.
        guard left > .zero, left <= .seconds(limits.backoffSeconds) else { return nil }
        return StandingHold(until: until, left: left)
    }

    /// Waits for a short hold to pass.
    ///
    /// - Throws: ``HTTPError/Reason/backoff(until:seconds:)`` for a longer one, or where further answers prolong it.
    func waitForHold(on url: HTTPURL) async throws(HTTPError) {
        var waits = 0
        while let hold = standingHold(on: url) {
            guard hold.left <= .seconds(limits.patienceSeconds), waits <= limits.tries else {
                throw HTTPError(url, .backoff(until: hold.until, seconds: hold.seconds))
            }
            waits += 1
            try await sleep(hold.left, of: url.description)
        }
    }

    /// Obeys `Backoff` and `Retry-After`, on any status.
    func noteHold(_ answer: Answer) {
        let headers = answer.response.headers
        let now = environment.now()
        let longest = limits.backoffSeconds
        var wait: Duration = .zero
        if let seconds = headers["Backoff"].flatMap({ Self.seconds($0, atMost: longest) }) {
            wait = .seconds(seconds)
        }
        if let text = headers["Retry-After"] {
            if let seconds = Self.seconds(text, atMost: longest) {
                wait = max(wait, .seconds(seconds))
            } else if let date = HTTPDate.parse(text, now: now) {
                // By the server's clock where it sends `Date`, so that a wrong clock here does not matter.
                let reference = headers["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? now
                wait = max(wait, min(date.elapsed(since: reference), .seconds(longest)))
            }
        }
        guard wait > .zero else { return }
        let hold = BackoffState.Hold(origin: answer.url.origin, until: now.advanced(by: wait))
        state.withLock { $0.backoff.extend(hold.origin, until: hold.until) }
        onEvent(.hold(hold))
    }

    /// Reports an `Alert` once.
    func noteAlert(_ answer: Answer) {
        guard let text = answer.response.headers["Alert"].map({ String($0.prefix(4096)) }), !text.isEmpty else {
            return
        }
        let isNew = state.withLock { $0.alerts.count < 64 && $0.alerts.insert(text).inserted }
        if isNew { onEvent(.alert(text, url: answer.url)) }
    }

    private static func seconds(_ text: String, atMost longest: Int) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return min(Int(text) ?? longest, longest)
    }
}
