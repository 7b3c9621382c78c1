import RemoteSettingsModel

/// The text of the last failed system call of this thread.
package func lastSystemError() -> String {
    let code = errno
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
}
