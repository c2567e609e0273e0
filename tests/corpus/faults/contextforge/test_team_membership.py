"""The function of the revision, over SQLAlchemy and a database file. Nothing here fails."""
import importlib.util
import sys
import tempfile
import types

import pytest
import sqlalchemy
from sqlalchemy import orm


class Base(orm.DeclarativeBase):
    pass


class EmailTeamMember(Base):
    __tablename__ = "email_team_members"
    team_id = orm.mapped_column(sqlalchemy.String, primary_key=True)
    user_email = orm.mapped_column(sqlalchemy.String, primary_key=True)
    is_active = orm.mapped_column(sqlalchemy.Boolean)


@pytest.fixture
def engine(tmp_path, monkeypatch):
    engine = sqlalchemy.create_engine("sqlite:///%s/members.db" % tmp_path, pool_size=50)
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(EmailTeamMember(team_id="t1", user_email="a@example.org", is_active=True))
        session.commit()

    def get_db():
        yield orm.Session(engine)

    monkeypatch.setattr(sys.modules["mcpgateway.db"], "get_db", get_db, raising=False)
    yield engine
    engine.dispose()


class Anything:
    """Stands for what the module imports and this function does not use."""

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *args, **kwargs):
        return Anything()


def stub(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


for package in ("fastapi", "mcpgateway", "mcpgateway.services", "mcpgateway.utils"):
    stub(package, HTTPException=Exception, Request=object, status=Anything())
stub("fastapi.security", HTTPBearer=Anything())
stub("mcpgateway.db", Permissions=Anything(), EmailTeamMember=EmailTeamMember)
stub("mcpgateway.services.logging_service", LoggingService=Anything())
stub("mcpgateway.utils.orjson_response", ORJSONResponse=object)
stub("mcpgateway.utils.verify_credentials", verify_jwt_token_cached=Anything())
spec = importlib.util.spec_from_file_location("token_scoping", "mcpgateway/middleware/token_scoping.py")
token_scoping = importlib.util.module_from_spec(spec)
spec.loader.exec_module(token_scoping)


def test_team_membership(engine):
    middleware = token_scoping.TokenScopingMiddleware()
    assert middleware._check_team_membership({"sub": "a@example.org", "teams": ["t1"]})
