// swift-format-ignore-file
// The parts of BackgroundTasks that the sample app uses. The sources are pages of
// developer.apple.com/documentation/backgroundtasks.
import AppleFoundation

public class BGTaskRequest {  // backgroundtasks: bgtaskrequest
    public var earliestBeginDate: Date?  // backgroundtasks: bgtaskrequest/earliestbegindate
}
public class BGAppRefreshTaskRequest: BGTaskRequest {  // backgroundtasks: bgapprefreshtaskrequest
    public init(identifier: String) {}
}
public class BGTaskScheduler: @unchecked Sendable {  // backgroundtasks: bgtaskscheduler
    public static let shared = BGTaskScheduler()
    public func submit(_ request: BGTaskRequest) throws {}  // backgroundtasks: bgtaskscheduler/submit(_:)
}
