"""Migrations of real frameworks, observed at development and carried to a store while production runs them itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from penstock.postgres.application.source_state import SourceStage
from penstock.postgres.migration.observed_command import observe_command
from penstock.postgres.migration.observed_migrations import ObservationRules
from penstock.postgres.migration.operation import NAMES, Phase
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import START, World, numbers

pytest.importorskip("chdb")
from postgres_capture.test_random_deployments import ClickHouseSide

ALEMBIC_ENV = """
import os
from alembic import context
from sqlalchemy import create_engine
engine = create_engine(os.environ["APP_DSN"].replace("postgresql:", "postgresql+psycopg2:"))
with engine.connect() as connection:
    connection.exec_driver_sql("SET search_path = " + os.environ["APP_SCHEMA"])
    connection.commit()
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
"""
ALEMBIC = {
    "added": """op.add_column("{t}", sa.Column("severity", sa.Integer, nullable=False, server_default="5"))
    op.add_column("{t}", sa.Column("run", sa.String(40), server_default=str(os.getpid())))
    op.alter_column("{t}", "run", server_default=None)""",
    "renamed": """op.alter_column("{t}", "a", new_column_name="title")
    op.alter_column("{t}", "n", type_=sa.BigInteger)""",
    "label": """op.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    op.add_column("{t}", sa.Column("mood", sa.Enum("sad", "ok", name="mood"), nullable=False, server_default="ok"))
    with op.get_context().autocommit_block():
        op.execute("ALTER TYPE mood ADD VALUE 'glad'")""",
    "filled": """op.add_column("{t}", sa.Column("slug", sa.Text))
    op.execute("UPDATE {t} SET slug = lower(title), mood = 'glad'")
    op.alter_column("{t}", "slug", nullable=False)
    op.drop_column("{t}", "b")""",
}
ALEMBIC_FILE = """import os
import sqlalchemy as sa
from alembic import op
revision, down_revision = {revision!r}, {before!r}
def upgrade():
    {body}
"""
DJANGO_SETTINGS = """
import os
from sqlalchemy.engine import make_url
url = make_url(os.environ["APP_DSN"])
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": url.database, "USER": url.username,
    "PASSWORD": url.password, "HOST": url.host, "PORT": url.port,
    "OPTIONS": {"options": "-c search_path=" + os.environ["APP_SCHEMA"]}}}
INSTALLED_APPS = ["app"]
TIME_ZONE = "Asia/Tokyo"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
"""
DJANGO = {
    "made": """migrations.SeparateDatabaseAndState(state_operations=[migrations.CreateModel("Row", [
        ("id", models.IntegerField(primary_key=True)), ("a", models.TextField(null=True)),
        ("b", models.TextField(null=True)), ("n", models.IntegerField(null=True))], {"db_table": "{t}"})])""",
    "added": """migrations.AddField("row", "severity", models.IntegerField(default=5)),
        migrations.AddField("row", "uid", models.UUIDField(default=uuid.uuid4)),
        migrations.AddField("row", "state", models.CharField(max_length=9, db_default="open"))""",
    "renamed": """migrations.RenameField("row", "a", "title")""",
    "filled": """migrations.AlterField("row", "n", models.BigIntegerField(null=True)),
        migrations.AddField("row", "slug", models.CharField(max_length=50, null=True)),
        migrations.RunPython(fill), migrations.AlterField("row", "slug", models.CharField(max_length=60, default="")),
        migrations.RemoveField("row", "b")""",
}
DJANGO_FILE = """import uuid
from django.db import migrations, models
def fill(apps, editor):
    for row in apps.get_model("app", "Row").objects.all():
        row.slug = row.title.upper()
        row.save()
class Migration(migrations.Migration):
    atomic = {atomic}
    dependencies = {before!r}
    operations = [{body}]
"""


RAILS_FILES = {
    "Rakefile": 'require_relative "config/application"\nRails.application.load_tasks\n',
    "bin/rails": 'APP_PATH = File.expand_path("../config/application", __dir__)\nrequire "rails/commands"\n',
    "config/environment.rb": 'require_relative "application"\nRails.application.initialize!\n',
    "config/application.rb": """require "logger"
require "rails"
require "active_record/railtie"
class App < Rails::Application
  config.root = File.expand_path("..", __dir__)
  config.eager_load = false
  config.logger = Logger.new($stderr)
  config.active_record.dump_schema_after_migration = false
end
""",
    "config/database.yml": """development:
  url: <%= ENV.fetch("APP_DSN") %>
  schema_search_path: <%= ENV.fetch("APP_SCHEMA") %>
""",
}
RAILS = {
    "added": """add_column :{t}, :severity, :integer, null: false, default: 5
    add_column :{t}, :run, :string, limit: 40, default: Process.pid.to_s
    change_column_default :{t}, :run, from: nil, to: nil""",
    "renamed": """rename_column :{t}, :a, :title
    change_column :{t}, :n, :bigint""",
    "label": """execute "CREATE TYPE mood AS ENUM ('sad', 'ok')"
    add_column :{t}, :mood, "mood", null: false, default: "ok"
    execute "ALTER TYPE mood ADD VALUE 'glad'" """,
    "filled": """add_column :{t}, :slug, :text
    execute "UPDATE {t} SET slug = lower(title), mood = 'glad'"
    change_column_null :{t}, :slug, false
    remove_column :{t}, :b, :text""",
}
RAILS_FILE = """class {name} < ActiveRecord::Migration[6.1]
  disable_ddl_transaction! if "{name}" == "Label"
  def up
    {body}
  end
end
"""


class Framework(Protocol):
    """A project of a framework, whose migrations change the table of a world."""

    def __init__(self, folder: Path, table: str): ...

    def command(self, until: str) -> list[str]:
        """What brings a database to a migration."""


class Alembic:
    """A folder of Alembic: each revision is a transaction."""

    def __init__(self, folder: Path, table: str):
        self._folder = folder
        (folder / "versions").mkdir()
        (folder / "env.py").write_text(ALEMBIC_ENV)
        (folder / "alembic.ini").write_text(f"[alembic]\nscript_location = {folder}\n")
        before = None
        for revision, body in ALEMBIC.items():
            text = ALEMBIC_FILE.format(revision=revision, before=before, body=body.replace("{t}", table))
            (folder / "versions" / f"{revision}.py").write_text(text)
            before = revision

    def command(self, until: str) -> list[str]:
        return [sys.executable, "-m", "alembic", "-c", str(self._folder / "alembic.ini"), "upgrade", until]


class Django:
    """A project of Django with one application."""

    def __init__(self, folder: Path, table: str):
        pytest.importorskip("django")
        self._folder = folder
        (folder / "app" / "migrations").mkdir(parents=True)
        for each in ("app", "app/migrations"):
            (folder / each / "__init__.py").write_text("")
        (folder / "app_settings.py").write_text(DJANGO_SETTINGS)
        before: list[tuple[str, str]] = []
        for name, body in DJANGO.items():
            text = DJANGO_FILE.format(atomic=name != "renamed", before=before, body=body.replace("{t}", table))
            (folder / "app" / "migrations" / f"{name}.py").write_text(text)
            before = [("app", name)]

    def command(self, until: str) -> list[str]:
        options = ["--settings=app_settings", f"--pythonpath={self._folder}", "--skip-checks"]
        return [sys.executable, "-m", "django", "migrate", "app", until, *options]


class Rails:
    """A project of Rails with Active Record only."""

    def __init__(self, folder: Path, table: str):
        has_rails = 'require "logger"; require "rails"; require "active_record/railtie"; require "pg"'
        if shutil.which("ruby") is None or subprocess.run(["ruby", "-e", has_rails], check=False).returncode:
            pytest.skip("Rails is not there (packages ruby-activerecord, ruby-railties and ruby-pg)")
        self._folder = folder
        migrations = {
            f"db/migrate/{at}_{name}.rb": RAILS_FILE.format(name=name.capitalize(), body=body.replace("{t}", table))
            for at, (name, body) in enumerate(RAILS.items(), 1)
        }
        for name, text in (RAILS_FILES | migrations).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    def command(self, until: str) -> list[str]:
        version = [*RAILS].index(until) + 1
        return ["ruby", "-C", str(self._folder), "bin/rails", "db:migrate", f"VERSION={version}"]


OPERATIONS = {
    Rails: [
        ["add_column", "add_column", "change_type", "rename_column"],
        ["add_column", "add_column", "drop_column", "set_not_null"],
    ],
    Alembic: [
        ["add_column", "add_column", "change_type", "rename_column"],
        ["add_column", "add_column", "drop_column", "set_not_null"],
    ],
    Django: [
        ["add_column", "add_column", "add_column", "rename_column"],
        ["add_column", "change_type", "drop_column", "set_not_null"],
    ],
}


@pytest.mark.parametrize("kind", [Alembic, Django, Rails])
def test_a_framework_migrates_production_behind_the_gate(
    source: Source, tmp_path: Path, kind: type[Framework], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(source, ClickHouseSide())
    framework = kind(tmp_path, world.name)
    development = source.dsn.replace("/postgres", f"/development_{source.schema}_{world.name}")
    monkeypatch.setenv("APP_SCHEMA", source.schema)
    try:
        source.wait_until_stored(world.side.name)
        for until, operations in zip(("renamed", "filled"), OPERATIONS[kind], strict=True):
            command = framework.command(until)
            monkeypatch.setenv("APP_DSN", development)
            rules = ObservationRules(START + timedelta(seconds=next(numbers)))
            done = observe_command(development, [source.schema], command, rules)
            observed = done.observation
            assert (done.exit_code, observed.unclear, observed.notes) == (0, (), ()), "nothing of the framework's own"
            found = [NAMES[type(each)] for migration in observed.migrations for each in migration.operations]
            assert sorted(found) == operations
            world.migrations += observed.migrations
            world.apply(Phase.pre)
            assert not world.work().missing([world.side.store]), "the gate is open"
            subprocess.run(command, check=True, env={**os.environ, "APP_DSN": source.dsn})
            assert {*world.work().state.stages.values()} == {SourceStage.after}
            source.run(f"UPDATE {{s}}.{world.name} SET n = n + 1 WHERE id = 1")
            world.check()
    finally:
        world.close()
