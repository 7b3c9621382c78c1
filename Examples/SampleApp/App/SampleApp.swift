import Foundation
import RemoteConfiguration
import SampleAppLogic
import SwiftUI

#if os(iOS)
import BackgroundTasks
import UIKit
#endif

/// The sample app: packaged records with pictures, which it keeps up to date, and parameters that change its
/// appearance.
@main
struct SampleApp: App {
    #if os(iOS)
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate
    #endif
    @StateObject private var model = SampleModel.shared

    var body: some Scene {
        WindowGroup {
            MarketsView(model: model)
        }
        #if os(iOS)
        .backgroundTask(.appRefresh(SampleModel.refreshTask)) {
            await SampleModel.shared.refreshInBackground()
        }
        #endif
    }
}

/// The model of the screens, which are drawn again whenever the store has new data.
@MainActor
final class SampleModel: ObservableObject {
    static let shared = SampleModel()
    /// The name of the background task, which the app's Info.plist lists under BGTaskSchedulerPermittedIdentifiers.
    nonisolated static let refreshTask = "org.example.sample.refresh"

    @Published private(set) var title = ""
    @Published private(set) var markets: [SampleStore.Market] = []
    @Published private(set) var served: [SampleStore.Served] = []
    /// The reason that there is nothing to show, or that the last refresh failed.
    @Published private(set) var problem: String?
    private let store: SampleStore?

    private init() {
        do {
            let caches = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            store = SampleStore(
                storage: caches.appendingPathComponent("remote-settings").path, settings: try .ofSampleApp())
        } catch {
            store = nil
            problem = "\(error)"
        }
        draw()
    }

    func draw() {
        guard let store else { return }
        title = store.title
        markets = store.rows
        served = store.served
    }

    /// Draws after each change while the screen is visible.
    func follow() async {
        guard let store else { return }
        for await _ in store.changes { draw() }
    }

    func refresh() async {
        guard let store else { return }
        problem = await store.refresh()
        draw()
    }

    func refreshInBackground() async {
        guard let store else { return }
        #if os(iOS)
        Self.scheduleRefresh()
        #endif
        _ = await store.refreshInBackground()
    }

    func receive(_ message: [AnyHashable: Any]) async -> Bool {
        guard let store, store.isAnnouncement(message) else { return false }
        return await store.refresh() == nil
    }

    func flag(of market: SampleStore.Market) async -> Data? { await store?.flag(of: market) }

    #if os(iOS)
    /// Requests the next background refresh. The system chooses its time.
    nonisolated static func scheduleRefresh() {
        let request = BGAppRefreshTaskRequest(identifier: refreshTask)
        request.earliestBeginDate = Date(timeIntervalSinceNow: 4 * 3600)
        // If background refresh is turned off, the app refreshes while it is open.
        try? BGTaskScheduler.shared.submit(request)
    }
    #endif
}

struct MarketsView: View {
    @ObservedObject var model: SampleModel
    @Environment(\.scenePhase) private var phase
    // After an activation, iOS 17 and later draw this again automatically; on earlier systems the model does.
    @RemoteConfigProperty(key: "accent", fallback: "#2f6fd0") private var accent: String

    var body: some View {
        NavigationStack {
            List(model.markets) { market in
                MarketRow(market: market, model: model)
            }
            .navigationTitle(model.title)
            .tint(Color(hex: accent))
            .refreshable { await model.refresh() }
            .toolbar {
                NavigationLink("Status") { StatusView(model: model) }
            }
            .overlay {
                if model.markets.isEmpty { Text(model.problem ?? "No markets yet") }
            }
        }
        .task { await model.follow() }
        #if os(iOS)
        .onChange(of: phase) { phase in
            if phase == .background { SampleModel.scheduleRefresh() }
        }
        #endif
    }
}

/// The records of each collection, their date and source, and the collection's last error.
struct StatusView: View {
    @ObservedObject var model: SampleModel

    var body: some View {
        List(model.served) { served in
            VStack {
                Text(served.id)
                Text(served.records)
                if let since = served.since { Text("changed on \(since)") }
                if let error = served.error { Text(error) }
            }
        }
        .navigationTitle("Status")
        .toolbar {
            Button("Update now") { Task { await model.refresh() } }
        }
    }
}

struct MarketRow: View {
    let market: SampleStore.Market
    let model: SampleModel
    @State private var flag: Data?

    var body: some View {
        HStack {
            if let image = flag.flatMap(Image.init(data:)) {
                image.resizable().frame(width: 32, height: 24)
            }
            Text(market.name)
        }
        .task(id: market) { flag = market.hasFlag ? await model.flag(of: market) : nil }
    }
}

extension Image {
    /// The picture in a file's content; `nil` if the system cannot read it.
    init?(data: Data) {
        #if os(iOS)
        guard let image = UIImage(data: data) else { return nil }
        self.init(uiImage: image)
        #else
        guard let image = NSImage(data: data) else { return nil }
        self.init(nsImage: image)
        #endif
    }
}

extension Color {
    /// A color from `#rrggbb`; gray for any other text.
    init(hex: String) {
        guard hex.hasPrefix("#"), hex.utf8.count == 7, let number = UInt32(hex.dropFirst(), radix: 16) else {
            self = .gray
            return
        }
        func part(_ shift: UInt32) -> Double { Double(number >> shift & 0xff) / 255 }
        self.init(red: part(16), green: part(8), blue: part(0))
    }
}

extension RemoteSettingsConfig {
    /// The settings of the sample. The environment variables `SAMPLE_SERVER` and `SAMPLE_ROOT` select your own server.
    static func ofSampleApp() throws -> RemoteSettingsConfig {
        var settings = try SampleStore.packagedSettings()
        let environment = ProcessInfo.processInfo.environment
        if let server = environment["SAMPLE_SERVER"], let root = environment["SAMPLE_ROOT"] {
            settings.server = .custom(url: server)
            settings.trustRoots = try TrustAnchors(parsing: [root])
        }
        return settings
    }
}

#if os(iOS)
/// Receives the push messages, for which SwiftUI has no modifier.
final class AppDelegate: NSObject, UIApplicationDelegate {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        application.registerForRemoteNotifications()
        return true
    }

    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        await SampleModel.shared.receive(userInfo) ? .newData : .noData
    }
}
#endif
