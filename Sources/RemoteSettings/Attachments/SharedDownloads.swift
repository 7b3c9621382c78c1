import RemoteSettingsModel
import Synchronization

/// Downloads of a collection's attachments that callers who want the same one share.
///
/// A caller that is cancelled leaves at once; a download that nobody waits for any longer is cancelled.
final class SharedDownloads: Sendable {
    typealias Outcome = Result<String, RemoteSettingsError>
    typealias Progress = @Sendable (AttachmentProgress) -> Void

    private struct Caller {
        var progress: Progress?
        /// `nil` until it waits.
        var waiting: CheckedContinuation<Outcome, Never>?
    }

    private struct Download {
        let number: Int
        var task: Task<Void, Never>?
        var callers: [Int: Caller] = [:]
    }

    private struct State {
        var downloads: [SHA256Digest: Download] = [:]
        /// Of callers that did not wait yet when their download ended, or when they were cancelled.
        var outcomes: [Int: Outcome] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    /// - Parameter download: brings the attachment here, and tells how far it is.
    /// - Returns: the file's path.
    func run(
        _ digest: SHA256Digest, progress: Progress?,
        _ download: @escaping @Sendable (@escaping Progress) async -> Outcome
    ) async -> Outcome {
        let caller = join(digest, progress, download)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> Outcome? in
                    if let outcome = state.outcomes.removeValue(forKey: caller) { return outcome }
                    state.downloads[digest]?.callers[caller]?.waiting = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            leave(digest, caller)
        }
    }

    private func join(
        _ digest: SHA256Digest, _ progress: Progress?,
        _ download: @escaping @Sendable (@escaping Progress) async -> Outcome
    ) -> Int {
        state.withLock { state in
            state.count += 1
            let caller = state.count
            if state.downloads[digest] == nil {
                let task = Task {
                    let outcome = await download { self.tell($0, digest, caller) }
                    self.end(digest, caller, outcome)
                }
                state.downloads[digest] = Download(number: caller, task: task)
            }
            state.downloads[digest]?.callers[caller] = Caller(progress: progress)
            return caller
        }
    }

    private func tell(_ progress: AttachmentProgress, _ digest: SHA256Digest, _ number: Int) {
        let callers = state.withLock { state in
            state.downloads[digest].map { $0.number == number ? Array($0.callers.values) : [] } ?? []
        }
        for caller in callers { caller.progress?(progress) }
    }

    private func end(_ digest: SHA256Digest, _ number: Int, _ outcome: Outcome) {
        let waiting = state.withLock { state -> [CheckedContinuation<Outcome, Never>] in
            guard let download = state.downloads[digest], download.number == number else { return [] }
            state.downloads[digest] = nil
            for (caller, value) in download.callers where value.waiting == nil { state.outcomes[caller] = outcome }
            return download.callers.values.compactMap(\.waiting)
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }

    private func leave(_ digest: SHA256Digest, _ caller: Int) {
        let outcome = Outcome.failure(RemoteSettingsError(CancellationError()))
        let (waiting, task) = state.withLock { state -> (CheckedContinuation<Outcome, Never>?, Task<Void, Never>?) in
            // Where it is no caller any longer, its download has ended.
            guard let left = state.downloads[digest]?.callers.removeValue(forKey: caller) else { return (nil, nil) }
            if left.waiting == nil { state.outcomes[caller] = outcome }
            guard state.downloads[digest]?.callers.isEmpty == true else { return (left.waiting, nil) }
            return (left.waiting, state.downloads.removeValue(forKey: digest)?.task)
        }
        task?.cancel()
        waiting?.resume(returning: outcome)
    }
}
