"""Compiling embedded bundles into a program. commands/embed.txt covers the command's output and errors."""
import re
import subprocess

import pytest

import rsdump
from dumps import Dumps
from publishing import Team
from test_snippets import compiler

SETTINGS, MARKETS = "main/settings", "main/markets"
EXAMPLE = rsdump.REPOSITORY / "Examples/OfflineExample"
WOULD_CHANGE = 6
# Compiles like an app, which is a different package.
OUTSIDE = ("-package-name", "app")


def embed(dumps, folder, *arguments, **options):
    return rsdump.run("embed", "--dumps", dumps.path, "--output", folder, *arguments, **options)


def test_embedded_example_is_up_to_date():
    outcome = embed(
        Dumps(EXAMPLE / "dumps"), EXAMPLE / "Sources/EmbeddedDumps", "--check", "--swift",
        EXAMPLE / "Sources/offline-example/PackagedSource+EmbeddedDumps.swift")
    assert outcome.code == rsdump.DONE, str(outcome)


def test_embedded_project_dumps_are_up_to_date():
    outcome = subprocess.run(
        [rsdump.REPOSITORY / "scripts/embed-dumps", "--check"], env={**rsdump.environment(), "RSDUMP": rsdump.BINARY},
        capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    dumps = Dumps(rsdump.REPOSITORY / "dumps")
    assert dumps.verify().code == rsdump.DONE
    assert len(dumps.names) == 5 and len(dumps.bundle("blocklists/addons-bloomfilters").attachments) == 2


def test_embed_keeps_similar_names_apart(tmp_path):
    team = Team(tmp_path)
    swift = tmp_path / "Embedded.swift"
    team.values = {name: 1 for name in ("a-b", "a_b", "aB", "self", "init", "Type", "2", "default", "a-b_2")}
    team.publish()
    outcome = embed(team.dumps, tmp_path / "AppDumps", "--swift", swift)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert swift.read_text().count("static let") == len(team.values) + 1
    (tmp_path / "AppDumps/include/module.modulemap").write_text('module AppDumps { header "AppDumps.h" export * }\n')
    assert compiler("-typecheck", "-swift-version", "6", *OUTSIDE, "-I", tmp_path / "AppDumps/include", swift) == []


def test_embed_generates_record_types(tmp_path):
    """Types generated from sources, including the compiler error after a member's type changes."""
    team = Team(tmp_path)
    records = tmp_path / "sources/main/sites.yaml"
    records.write_text(
        "records:\n"
        "- {id: a, name: A, rank: 1, tags: [x], 'hashValue': h, 'é\\u{301}': 1, 'class': c, side: left}\n"
        "- {id: b, name: B, rank: 2, tags: [], 'hashValue': h, 'é\\u{301}': 2, 'class': c, note: hello, side: left}\n")
    team.publish()
    schema = '{"properties": {"side": {"enum": ["left", "right"]}}, "required": ["side", "name", "rank", "tags"]}'
    configuration = team.dumps.path / "dumps.yaml"
    configuration.write_text(configuration.read_text() + f"guards:\n  schema: {schema}\n")
    swift = tmp_path / "Embedded.swift"
    arguments = (team.dumps, tmp_path / "AppDumps", "--swift", swift, "--types")
    assert embed(*arguments).code == rsdump.DONE
    assert embed(*arguments, "--check").code == rsdump.DONE
    app = tmp_path / "App.swift"
    app.write_text("""
import RemoteSettings
func ranks(_ service: RemoteSettingsService) -> [Int64] {
    let sites = service.makeClient(.sites).records
    for site in sites where site.side == .right { print(site.name.uppercased(), site.note ?? "", site.tags.count) }
    return sites.map { $0.rank }
}
""")
    (tmp_path / "AppDumps/include/module.modulemap").write_text('module AppDumps { header "AppDumps.h" export * }\n')
    compiled = ("-typecheck", "-parse-as-library", "-swift-version", "6", *OUTSIDE, "-I", tmp_path / "AppDumps/include",
                swift, app)
    assert compiler(*compiled) == []

    records.write_text(records.read_text().replace("rank: 2", "rank: second"))
    team.publish()
    outcome = embed(*arguments, "--check")
    assert outcome.code == WOULD_CHANGE
    assert outcome.says("main/sites: in the record b, rank is a string, but SitesRecord requires an integer"), str(outcome)
    assert embed(*arguments).says("in the record b, rank is a string")
    assert any("RemoteSettingsJSON" in line and "Int64" in line for line in compiler(*compiled))
    assert embed(*arguments, "--check").code == rsdump.DONE


# Compiler settings that an app may use in Package.swift or Xcode.
FEATURES = [part for name in ("InternalImportsByDefault", "ExistentialAny", "MemberImportVisibility")
            for part in ("-enable-upcoming-feature", name)]
MAIN_ACTOR = ["-default-isolation", "MainActor"]
SETTINGS_OF_APPS = {
    "none": [], "main actor": MAIN_ACTOR, "all": [*MAIN_ACTOR, *FEATURES, "-strict-memory-safety", "-warnings-as-errors"]}


@pytest.mark.parametrize("settings", SETTINGS_OF_APPS)
def test_generated_code_compiles_in_every_app(settings, tmp_path):
    """Also off the main actor, and with parameters named like members of RemoteConfig."""
    team = Team(tmp_path)
    (tmp_path / "sources/main/sites.yaml").write_text(
        "metadata: {schema: {required: [side], properties: {side: {enum: [left]}}}}\n"
        "records: [{id: a, author: {name: A}, side: left, self: 1, init: 2}]\n")
    names = ["collection_name", "timestamp", "status", "activation", "lastFetchTime", "configSettings", "self", "values"]
    (tmp_path / "sources/main/app-config.yaml").write_text(
        "records:\n" + "".join(f"  {name}: {{key: {name}, value: 1}}\n" for name in names))
    team.publish()
    embedded, keys, app = (tmp_path / f"{name}.swift" for name in ("Embedded", "Keys", "App"))
    assert embed(team.dumps, tmp_path / "AppDumps", "--swift", embedded, "--types").code == rsdump.DONE
    # The published schema determines optional members. It is not signed, so it produces no enumeration.
    assert {"author: Author?", "side: String"} <= set(re.findall(r"public let (.*)", embedded.read_text()))
    assert rsdump.run("export", "--to", "swift", "-o", keys, "--dumps", team.dumps.path, "main/app-config").code == rsdump.DONE
    app.write_text("""
import RemoteConfiguration
import RemoteSettings
nonisolated func read(_ service: RemoteSettingsService) -> Set<SitesRecord.Author> {
    Set(service.makeClient(.sites).records.compactMap(\\.author))
}
actor Background { func same(_ a: SitesRecord, _ b: SitesRecord) -> Bool { a == b && a.self_ == b.init_ } }
nonisolated func keys(_ config: any RemoteConfigReading) -> Int {
    %s
}
final class Screen {
    func show(_ config: RemoteConfig) { config.addObserver { [weak self] _ in self?.redraw() } }
    func redraw() {}
    func load(_ client: RemoteSettingsClient) async throws { _ = try await client.downloadAttachments { _ in self.redraw() } }
}
""" % " + ".join(f"config.values.{name}" for name in (
        "collectionName", "timestamp", "status", "activation", "lastFetchTime", "configSettings", "self_", "values")))
    if settings == "none": app.write_text(app.read_text().replace("final class", "@MainActor final class"))
    (tmp_path / "AppDumps/include/module.modulemap").write_text('module AppDumps { header "AppDumps.h" export * }\n')
    assert compiler("-typecheck", "-parse-as-library", "-swift-version", "6", *SETTINGS_OF_APPS[settings], *OUTSIDE, "-I",
                    tmp_path / "AppDumps/include", embedded, keys, app) == []


def test_keys_create_prints_code_that_compiles(tmp_path):
    for arguments in ((), ("--signer", "settings.example.org")):
        outcome = rsdump.run("keys", "create", tmp_path / f"keys{len(arguments)}", *arguments)
        code = re.search(r"In the app:\n(.*?)\n\n", outcome.out, re.DOTALL)[1].replace("…", ".production")
        source = tmp_path / "Printed.swift"
        source.write_text(f"import RemoteSettings\nfunc printed() throws -> RemoteSettingsConfig {{\n{code}\nreturn config\n}}\n")
        assert compiler("-typecheck", "-parse-as-library", "-swift-version", "6", *OUTSIDE, source) == []
