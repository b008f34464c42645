FROM python:3.11-slim AS build
WORKDIR /src

# The build's own tools stay behind in this stage; the service's environment has no pip.
COPY requirements.lock requirements-build.lock ./
RUN python -m venv /opt/build && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements-build.lock
RUN python -m venv --without-pip /opt/foreslice && /opt/build/bin/pip --python /opt/foreslice/bin/python install --no-cache-dir --require-hashes -r requirements.lock

COPY . .
RUN /opt/build/bin/hatchling build -t wheel && /opt/build/bin/pip --python /opt/foreslice/bin/python install --no-cache-dir --no-deps dist/*.whl
RUN install -d -o 65532 -g 65532 /opt/state

FROM python:3.11-slim
LABEL org.opencontainers.image.title="foreslice" \
      org.opencontainers.image.description="Sizes the GPU slices of an inference fleet ahead of its traffic." \
      org.opencontainers.image.licenses="Apache-2.0"

# The root file system may be read-only: the volume and /tmp are all that is written to.
ENV HOME=/tmp \
    PATH=/opt/foreslice/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
COPY --from=build /opt/foreslice /opt/foreslice
COPY --from=build --chown=65532:65532 /opt/state /var/lib/foreslice
VOLUME ["/var/lib/foreslice"]
WORKDIR /var/lib/foreslice
USER 65532:65532
ENTRYPOINT ["foreslice"]
